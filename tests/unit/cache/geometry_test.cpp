// SPDX-License-Identifier: BSD-3-Clause
// Cache descriptions as machines have them, whole, partial and wrong.
#include "cache/geometry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>

namespace turnpike::cache {
namespace {

using files = std::map<std::string, std::string>;

class geometry_test : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name =
            (std::filesystem::temp_directory_path() / "turnpike-sysfs-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        sysfs_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(sysfs_); }

    void describe(unsigned index, const files& contents, unsigned cpu = 0) {
        const auto folder = sysfs_ / "devices/system/cpu" / ("cpu" + std::to_string(cpu)) /
                            "cache" / ("index" + std::to_string(index));
        std::filesystem::create_directories(folder);
        for (const auto& [file, text] : contents) std::ofstream(folder / file) << text << "\n";
    }
    void describe_epyc() {
        const files l1{{"level", "1"},
                       {"type", "Data"},
                       {"size", "32K"},
                       {"number_of_sets", "64"},
                       {"ways_of_associativity", "8"},
                       {"coherency_line_size", "64"},
                       {"shared_cpu_list", "0"}};
        files instructions = l1, l2 = l1, l3 = l1;
        instructions["type"] = "Instruction";
        l2["level"] = "2", l2["type"] = "Unified", l2["size"] = "1024K",
        l2["number_of_sets"] = "2048";
        l3["level"] = "3", l3["type"] = "Unified", l3["size"] = "32768K",
        l3["number_of_sets"] = "32768", l3["ways_of_associativity"] = "16",
        l3["shared_cpu_list"] = "0-7";
        describe(3, l3), describe(0, l1), describe(1, instructions), describe(2, l2);
    }

    std::filesystem::path sysfs_;
};

TEST_F(geometry_test, whole_description) {
    describe_epyc();
    const auto g = read_geometry(sysfs_);
    ASSERT_TRUE(g) << g.error().message();
    ASSERT_EQ(g->levels.size(), 3u);  // without the instruction cache, nearest first
    EXPECT_EQ(g->levels[0].sets, 64u);
    EXPECT_EQ(g->levels[0].size_bytes(), 32u << 10);
    EXPECT_EQ(g->find(2)->way_bytes(), 128u << 10);
    EXPECT_EQ(g->find(3)->ways, 16u);
    EXPECT_EQ(g->find(3)->shared_cpus, "0-7");
    EXPECT_EQ(g->find(4), nullptr);
}

TEST_F(geometry_test, other_cpu_has_none) {
    describe_epyc();
    const auto g = read_geometry(sysfs_, 1);
    ASSERT_FALSE(g);
    EXPECT_EQ(g.error().code, ENOENT);
    EXPECT_THAT(g.error().text, ::testing::HasSubstr("no data cache"));
}

TEST_F(geometry_test, virtual_machine_without_cache_folder) {
    std::filesystem::create_directories(sysfs_ / "devices/system/cpu/cpu0");
    EXPECT_EQ(read_geometry(sysfs_).error().code, ENOENT);
    const auto typical = geometry_or_typical(sysfs_);
    EXPECT_THAT(typical.source, ::testing::HasSubstr("assumed"));
    ASSERT_NE(typical.find(1), nullptr);
    EXPECT_EQ(typical.find(1)->sets, 64u);
    EXPECT_EQ(typical.find(2)->sets, 2048u);
}

TEST_F(geometry_test, sets_or_ways_or_line_not_said) {
    describe(0,
             {{"level", "1"}, {"type", "Data"}, {"size", "48K"}, {"ways_of_associativity", "12"}});
    describe(1, {{"level", "2"},
                 {"type", "Unified"},
                 {"size", "2M"},
                 {"number_of_sets", "2048"},
                 {"coherency_line_size", "64"}});
    const auto g = read_geometry(sysfs_);
    ASSERT_TRUE(g);
    EXPECT_EQ(g->find(1)->sets, 64u);
    EXPECT_EQ(g->find(2)->ways, 16u);
}

TEST_F(geometry_test, nonsense_is_left_out) {
    describe(0, {{"level", "1"}, {"type", "Data"}, {"size", "32K"}});  // neither sets nor ways
    describe(1, {{"level", "1"},
                 {"type", "Data"},
                 {"number_of_sets", "0"},
                 {"ways_of_associativity", "0"}});
    describe(2, {{"level", "two"},
                 {"type", "Unified"},
                 {"number_of_sets", "64"},
                 {"ways_of_associativity", "8"}});
    describe(3, {{"level", "2"},
                 {"type", "Unified"},
                 {"number_of_sets", "-1"},
                 {"ways_of_associativity", "8"}});
    describe(4, {{"level", "2"},
                 {"type", "Unified"},
                 {"number_of_sets", "64"},
                 {"ways_of_associativity", "8"},
                 {"coherency_line_size", "63"}});
    describe(5, {{"level", "99999999999999999999"}, {"type", "Unified"}, {"number_of_sets", "64"}});
    describe(6, {});
    EXPECT_FALSE(read_geometry(sysfs_));
    describe(7,
             {{"level", "1"}, {"type", "Data"}, {"size", "32K"}, {"ways_of_associativity", "8"}});
    ASSERT_TRUE(read_geometry(sysfs_));
    EXPECT_EQ(read_geometry(sysfs_)->levels.size(), 1u);
}

TEST(parse_geometry, reads_what_it_says_and_refuses_the_rest) {
    const auto g = parse_geometry("2:1024x16,1:64x12");
    ASSERT_TRUE(g);
    EXPECT_EQ(g->levels[0].number, 1u);
    EXPECT_EQ(g->find(1)->size_bytes(), 48u << 10);
    EXPECT_EQ(g->find(2)->size_bytes(), 1u << 20);
    for (const char* bad : {"", ",", "1", "1:64", "1:64x", "1:0x8", "1:64x0", "0:64x8", "5:64x8",
                            "1:64x8,1:64x8", "1:64x8 ", "1:99999999999x8", "L1:64x8"})
        EXPECT_FALSE(parse_geometry(bad)) << bad;
}

}  // namespace
}  // namespace turnpike::cache
