// SPDX-License-Identifier: BSD-3-Clause
// ClassBench rule sets (../shared/data/classbench, where that is) against a linear scan. A few
// thousand headers a set; 100,000 with TURNPIKE_LONG. With sanitizers, the small sets.
#include <gtest/gtest.h>

#include <cstdlib>

#include "acl/rule_file.hpp"
#include "lib/classbench.hpp"
#include "lib/isa_param.hpp"
#include "lib/sanitized.hpp"
#include "oracle.hpp"

namespace turnpike::acl::test {
namespace {

TEST(acl_sets, every_set_with_every_kernel) {
    const turnpike::test::classbench_sets sets;
    if (sets.files.empty()) GTEST_SKIP() << "no ClassBench sets in ../shared/data/classbench";
    const bool everything = std::getenv("TURNPIKE_LONG") != nullptr;
    const size_t headers = everything ? 100'000 : 600;
    for (const auto& path : sets.files) {
        if (turnpike::test::slow && path.string().ends_with("10k")) continue;
        const auto file = read_rules(path);
        ASSERT_TRUE(file) << file.error().message();
        ASSERT_GT(file->rules.size(), 600U);
        auto table = *classifier4::create({});
        ASSERT_TRUE(table->build(file->rules));
        const auto stats = table->stats();
        EXPECT_LT(stats.bytes() - stats.vector_bytes, file->rules.size() * 600 + 40'000) << path;
        EXPECT_LT(stats.vector_bytes, file->rules.size() * 400 + 40'000) << path;
        rules_maker make(7);
        const auto keys = make.keys<key4>(file->rules, headers);
        const sorted_rules oracle(file->rules);
        std::vector<uint32_t> expected(keys.size()), results(keys.size());
        for (const auto& row : classify_kernels()) {
            if (!table->select_kernel(isa::any_simd_bitwidth, row.name)) continue;  // the CPU's
            table->classify(pointers(keys), results);
            if (row.name == classify_kernels().back().name || expected[0] == 0) {
                for (size_t i = 0; i < keys.size(); ++i)
                    ASSERT_TRUE(oracle.right(keys[i], 0, results[i])) << path << " " << i;
                expected = results;
            }
            ASSERT_EQ(results, expected)
                << path << " " << row.name;  // priorities differ: one answer
            classify_by_trees(*table, pointers(keys), results);
            ASSERT_EQ(results, expected) << path << " " << row.name << " by trees";
        }
    }
    EXPECT_EQ(sets.files.size(), 24U);
}

/// Firewalls have rules that would be copied into thousands of leaves: such rules have a separate
/// tree, so that a removal does not rebuild everything.
TEST(acl_sets, any_rule_is_changed_by_itself) {
    const turnpike::test::classbench_sets sets;
    if (sets.files.empty()) GTEST_SKIP() << "no ClassBench sets in ../shared/data/classbench";
    for (const auto& path : sets.files) {
        if (!path.filename().string().starts_with("fw") || !path.string().ends_with("10k"))
            continue;
        const auto file = read_rules(path);
        ASSERT_TRUE(file) << file.error().message();
        auto table = *classifier4::create({});
        ASSERT_TRUE(table->build(file->rules));
        const uint64_t rebuilds = table->stats().rebuilds;
        for (rule_id id = 0; id + 1 < file->rules.size(); id += 3) {
            ASSERT_TRUE(table->remove(id));
            ASSERT_TRUE(table->add(file->rules[id]));
        }
        EXPECT_EQ(table->stats().rebuilds, rebuilds) << path;
    }
}

TEST(acl_rule_file, what_is_wrong_is_said_with_its_line) {
    const struct {
        const char *text, *where, *why;
    } wrong[] = {
        {"@1.2.3.4/32 5.6.7.8/32 0 : 1 2 : 3 0x06/0xFF 0x0000/0x0200\nnonsense\n", "f:2", "'@'"},
        {"\n# comment\n@1.2.3/32 5.6.7.8/32 0 : 1 2 : 3 0x06/0xFF\n", "f:3", "not an address"},
        {"@1.2.3.4/33 5.6.7.8/32 0 : 1 2 : 3 0x06/0xFF\n", "f:1", "prefix length"},
        {"@1.2.3.4/32 5.6.7.8/32 5 : 1 2 : 3 0x06/0xFF\n", "f:1", "ends before it begins"},
        {"@1.2.3.4/32 5.6.7.8/32 0 : 65536 2 : 3 0x06/0xFF\n", "f:1", "source port"},
        {"@1.2.3.4/32 5.6.7.8/32 0 : 1 2 3 0x06/0xFF\n", "f:1", "between"},
        {"@1.2.3.4/32 5.6.7.8/32 0 : 1 2 : 3 0x106/0xFF\n", "f:1", "protocol"},
        {"@1.2.3.4/32 5.6.7.8/32 0 : 1 2 : 3 0x06/0xFF 1/2 3\n", "f:1", "more on the line"},
        {"@1.2.3.4/32 ::/0 0 : 1 2 : 3 0x06/0xFF\n", "f:1", "IPv4 and IPv6"},
        {"@1.2.3.4/32", "f:1", "not an address"},
    };
    for (const auto& w : wrong) {
        const auto parsed = parse_rules(w.text, "f");
        ASSERT_FALSE(parsed) << w.text;
        EXPECT_EQ(parsed.error().code, EINVAL);
        EXPECT_EQ(parsed.error().object, w.where) << w.text;
        EXPECT_NE(parsed.error().text.find(w.why), std::string::npos) << parsed.error().text;
    }
    EXPECT_EQ(read_rules("/nonexistent/rules").error().code, ENOENT);
}

TEST(acl_rule_file, rules_mean_what_they_say) {
    const auto file = parse_rules(
        "\xef\xbb\xbf"  // a byte order mark
        "@2001:db8::/32\t::/0\t0 : 65535\t53 : 53\t0x11/0xFF\r\n"
        "@::1/128 2001:db8::1/127 1024 : 65535 0 : 1023 0x00/0x00 0x0002/0x0012\n",
        "f");
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->kind, family::ipv6);
    ASSERT_EQ(file->rules.size(), 2U);
    const rule& r = file->rules[0];
    EXPECT_EQ(r.source.mask[3], 0xff);
    EXPECT_EQ(r.source.mask[4], 0);
    EXPECT_EQ(r.destination, address_match{});
    EXPECT_EQ(r.destination_port, (port_range{53, 53}));
    EXPECT_EQ(r.protocol, (masked<uint8_t>{0x11, 0xff}));
    EXPECT_EQ(r.priority, 2U);
    EXPECT_EQ(file->rules[1].priority, 1U);
    EXPECT_EQ(file->rules[1].tcp_flags, (masked<uint16_t>{2, 0x12}));
    EXPECT_EQ(file->lines, (std::vector<unsigned>{1, 2}));
}

}  // namespace
}  // namespace turnpike::acl::test
