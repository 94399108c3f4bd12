// SPDX-License-Identifier: BSD-3-Clause
// Before EAL's start: precedence of options, and the hugepage check.
#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>

#include "control/eal.hpp"
#include "control/hugepages.hpp"

namespace turnpike::control {
namespace {

using words = std::vector<std::string>;

TEST(merge_eal_options, the_command_line_wins) {
    EXPECT_EQ(merge_eal_options({"-l", "0-1", "--no-pci"}, {"-l", "2"}),
              (words{"--no-pci", "-l", "2"}));
    EXPECT_EQ(merge_eal_options({"-l0-1", "--no-pci"}, {"--lcores=2"}),
              (words{"--no-pci", "--lcores=2"}));
    EXPECT_EQ(merge_eal_options({"-m", "64", "--in-memory"}, {"-m128"}),
              (words{"--in-memory", "-m128"}));
}

TEST(merge_eal_options, what_does_not_clash_stays) {
    EXPECT_EQ(merge_eal_options({"--no-pci"}, {"--force-max-simd-bitwidth=128"}),
              (words{"--no-pci", "--force-max-simd-bitwidth=128"}));
    EXPECT_EQ(merge_eal_options({}, {}), words{});
}

using lcores = std::vector<unsigned>;

TEST(lcores_named, in_all_of_eal_s_plain_words) {
    EXPECT_EQ(lcores_named({"--no-pci", "-l", "2,4-6"}), (lcores{2, 4, 5, 6}));
    EXPECT_EQ(lcores_named({"-l1"}), lcores{1});
    EXPECT_EQ(lcores_named({"--lcores=0-3"}), (lcores{0, 1, 2, 3}));
    EXPECT_EQ(lcores_named({"--lcores", "7"}), lcores{7});
    EXPECT_EQ(lcores_named({"-c", "0x34"}), (lcores{2, 4, 5}));
    EXPECT_EQ(lcores_named({"-c11"}), (lcores{0, 4}));
}

TEST(lcores_named, none_in_other_words) {
    for (const char* text : {"(0-3)@0", "-1", "", "9999999", "1-", "a"})
        EXPECT_EQ(lcores_named({"-l", text}), lcores{}) << text;
    EXPECT_EQ(lcores_named({"-c", "0xg"}), lcores{});
    EXPECT_EQ(lcores_named({"-l"}), lcores{});
    EXPECT_EQ(lcores_named({"--no-pci"}), lcores{});
}

TEST(workers_expected, are_all_lcores_but_the_main_one) {
    state::configuration wanted;
    EXPECT_EQ(workers_expected(wanted, {0, 1, 2, 3}), 3U);
    EXPECT_EQ(workers_expected(wanted, {5}), 1U) << "the only one is both";
    cpu_set_t set;
    ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    const auto allowed = static_cast<uint32_t>(CPU_COUNT(&set));
    EXPECT_EQ(workers_expected(wanted, {}), std::max(allowed, 2U) - 1);
    wanted.workers = {2, 3};
    EXPECT_EQ(workers_expected(wanted, {0, 1, 2, 3}), 2U);
}

class sysfs : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = std::filesystem::temp_directory_path() / "turnpike-sysfs-XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root = name;
    }
    void TearDown() override { std::filesystem::remove_all(root); }
    void pool(unsigned node, unsigned kb, unsigned free_pages) const {
        const auto folder = root / ("sys/devices/system/node/node" + std::to_string(node)) /
                            ("hugepages/hugepages-" + std::to_string(kb) + "kB");
        std::filesystem::create_directories(folder);
        std::ofstream(folder / "free_hugepages") << free_pages << '\n';
    }
    std::filesystem::path root;
};

TEST_F(sysfs, enough_hugepages_on_the_node) {
    pool(0, 2048, 0);
    pool(1, 2048, 100);
    EXPECT_EQ(hugepage_shortfall(hugepage_pools(root), 1, 200u << 20), "");
}

TEST_F(sysfs, large_pages_count_too) {
    pool(0, 1048576, 1);
    EXPECT_EQ(hugepage_shortfall(hugepage_pools(root), 0, 500u << 20), "");
}

TEST_F(sysfs, a_shortfall_names_node_number_and_command) {
    pool(0, 2048, 100);
    pool(1, 2048, 10);
    const std::string said = hugepage_shortfall(hugepage_pools(root), 1, 100u << 20);
    EXPECT_NE(said.find("node 1 lacks 40 hugepages of 2 MB"), std::string::npos) << said;
    EXPECT_NE(said.find("> /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"),
              std::string::npos)
        << said;
}

TEST_F(sysfs, a_kernel_without_numa) {
    const auto folder = root / "sys/kernel/mm/hugepages/hugepages-2048kB";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "free_hugepages") << "5\n";
    ASSERT_EQ(hugepage_pools(root).size(), 1U);
    EXPECT_EQ(hugepage_pools(root)[0].free_pages, 5U);
}

TEST_F(sysfs, the_node_of_a_cpu) {
    std::filesystem::create_directories(root / "sys/devices/system/cpu/cpu3/node1");
    EXPECT_EQ(node_of_cpu(root, 3), 1U);
    EXPECT_EQ(node_of_cpu(root, 0), 0U);
}

}  // namespace
}  // namespace turnpike::control
