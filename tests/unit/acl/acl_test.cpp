// SPDX-License-Identifier: BSD-3-Clause
// Every kernel against a linear scan: generated rule sets of every kind, all numbers of categories,
// all burst sizes, and sets that no tree divides.
#include <gtest/gtest.h>

#include "lib/isa_param.hpp"
#include "oracle.hpp"

namespace turnpike::acl::test {
namespace {

template <class Key>
std::unique_ptr<classifier<Key>> made(const std::string& kernel, const std::vector<rule>& rules) {
    auto table = *classifier<Key>::create({.kernel = kernel});
    EXPECT_EQ(table->kernel(), kernel);
    const auto built = table->build(rules);
    EXPECT_TRUE(built) << built.error().message();
    return table;
}

template <class Key>
void expect_right(const classifier<Key>& table, const std::vector<rule>& rules,
                  const std::vector<Key>& keys, unsigned categories = 1) {
    const sorted_rules oracle(rules);
    const auto at = pointers(keys);
    std::vector<uint32_t> results(keys.size() * categories, 0xdead'beef);
    const auto check = [&](const char* by) {
        for (size_t i = 0; i < keys.size(); ++i)
            for (unsigned c = 0; c < categories; ++c)
                ASSERT_TRUE(oracle.right(keys[i], c, results[i * categories + c]))
                    << by << ": key " << i << " category " << c << " of " << rules.size()
                    << " rules: " << results[i * categories + c];
    };
    table.classify(at, results, categories);
    check(table.stats().vector_bytes != 0 ? "bit vectors" : "trees");
    if (table.stats().vector_bytes == 0 || ::testing::Test::HasFatalFailure()) return;
    std::fill(results.begin(), results.end(), 0xdead'beef);
    classify_by_trees(table, at, results, categories);
    check("trees");
}

class acl_kernel : public ::testing::TestWithParam<std::string> {};

template <class Key>
void generated(const std::string& kernel) {
    for (const unsigned size : {0U, 1U, 7U, 8U, 9U, 17U, 60U, 300U, 1500U}) {
        rules_maker make(size + 1);
        make.vlans = size % 2 == 0;
        const auto rules = make.many<Key>(size);
        const auto table = made<Key>(kernel, rules);
        expect_right(*table, rules, make.keys<Key>(rules, 1000));
        if (::testing::Test::HasFatalFailure()) return;
    }
}

TEST_P(acl_kernel, generated_ipv4) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, classify_kernels());
    generated<key4>(GetParam());
}
TEST_P(acl_kernel, generated_ipv6) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, classify_kernels());
    generated<key6>(GetParam());
}

TEST_P(acl_kernel, categories) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, classify_kernels());
    for (const unsigned categories : {1U, 4U, 8U, 12U, 16U}) {
        rules_maker make(categories);
        make.categories = 1u << categories;
        const auto rules = make.many<key4>(400);
        const auto table = made<key4>(GetParam(), rules);
        expect_right(*table, rules, make.keys<key4>(rules, 500), categories);
        if (HasFatalFailure()) return;
    }
    // The same categories in every rule, and lookups with more categories than rules have.
    rules_maker make(99);
    auto rules = make.many<key4>(200);
    for (rule& r : rules) r.categories = 0b0110;
    const auto table = made<key4>(GetParam(), rules);
    for (const unsigned categories : {1U, 4U, 8U})
        expect_right(*table, rules, make.keys<key4>(rules, 200), categories);
}

TEST_P(acl_kernel, every_burst_size) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, classify_kernels());
    rules_maker make(3);
    const auto rules = make.many<key4>(500);
    const auto table = made<key4>(GetParam(), rules);
    for (unsigned n = 0; n <= 130; ++n) {
        const auto keys = make.keys<key4>(rules, n);
        expect_right(*table, rules, keys);
        // Nothing is written behind the last result.
        const auto at = pointers(keys);
        std::vector<uint32_t> results(n + 1, 0xdead'beef);
        table->classify(at, {results.data(), n});
        ASSERT_EQ(results[n], 0xdead'beef);
        if (HasFatalFailure()) return;
    }
}

/// Sets that would blow up a tree: it may be slow, it must be right and small.
TEST_P(acl_kernel, sets_without_a_tree) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, classify_kernels());
    rules_maker make(5);
    std::vector<rule> wild(700);
    for (uint32_t i = 0; i < wild.size(); ++i) wild[i].priority = i + 1, wild[i].user_data = i + 1;
    std::vector<rule> ranges(1000);
    for (uint32_t i = 0; i < ranges.size(); ++i) {
        const auto first = static_cast<uint16_t>(make(65536));
        const auto last = static_cast<uint16_t>(first + make(65536u - first));
        (i % 2 != 0 ? ranges[i].source_port : ranges[i].destination_port) = {first, last};
        ranges[i].priority = i + 1;
        ranges[i].user_data = i + 1;
    }
    std::vector<rule> same_priority = make.many<key4>(600);
    for (rule& r : same_priority) r.priority = 7;
    std::vector<rule> extremes = make.many<key4>(300);
    for (size_t i = 0; i < extremes.size(); ++i) extremes[i].priority = i % 2 ? max_priority : 1;
    for (const auto& rules : {wild, ranges, same_priority, extremes}) {
        const auto table = made<key4>(GetParam(), rules);
        expect_right(*table, rules, make.keys<key4>(rules, 600));
        const auto stats = table->stats();
        EXPECT_LT(stats.bytes() - stats.vector_bytes, rules.size() * 1000 + 40'000);
        EXPECT_LE(stats.vector_bytes, 1'200'000U);
        if (HasFatalFailure()) return;
    }
}

/// The highest priority there is wins, alone and beside the lowest one, and hides nothing beside it.
TEST_P(acl_kernel, the_highest_priority) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, classify_kernels());
    for (const unsigned categories : {1U, 4U, 8U, 16U}) {
        for (const uint32_t lowest : {1U, max_priority - 5000, max_priority - 1, max_priority}) {
            rules_maker make(categories + lowest);
            make.categories = 1u << categories;
            auto rules = make.many<key4>(60);
            for (size_t i = 0; i < rules.size(); ++i)
                rules[i].priority = i % 2 != 0 ? max_priority : lowest;
            const auto table = made<key4>(GetParam(), rules);
            expect_right(*table, rules, make.keys<key4>(rules, 300), categories);
            if (HasFatalFailure()) return;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(isa, acl_kernel,
                         ::testing::ValuesIn(turnpike::test::kernel_names(classify_kernels())),
                         turnpike::test::isa_name);

TEST(acl, the_width_rules_the_kernel) {
    EXPECT_EQ((*classifier4::create({.max_simd_bitwidth = 64}))->kernel(), "scalar");
    const auto& widest = classify_kernels().front();
    const auto half = static_cast<uint16_t>(widest.simd_bitwidth / 2);
    const auto forbidden =
        classifier4::create({.max_simd_bitwidth = half, .kernel = std::string(widest.name)});
    ASSERT_FALSE(forbidden);
    EXPECT_EQ(forbidden.error().code, ENOTSUP);
    EXPECT_EQ(classifier4::create({.kernel = "mmx"}).error().code, EINVAL);
}

TEST(acl, a_measured_kernel_is_one_that_the_width_permits) {
    rules_maker make(5);
    const auto rules = make.many<key4>(300);
    const auto keys = make.keys<key4>(rules, 500);
    for (const uint16_t width : std::initializer_list<uint16_t>{64, 128, 256, 512}) {
        auto table = *classifier4::create({.max_simd_bitwidth = width, .measure_kernels = true});
        const std::string first(table->kernel());
        ASSERT_TRUE(table->build(rules));
        const auto all = classify_kernels();
        const auto row = std::find_if(all.begin(), all.end(),
                                      [&](const auto& r) { return r.name == table->kernel(); });
        ASSERT_NE(row, all.end());
        EXPECT_TRUE(isa::may_run(*row, width)) << table->kernel();
        if (width < 256) {
            EXPECT_EQ(table->kernel(), first);
        }
        expect_right(*table, rules, keys);
        // A kernel that was selected by name stays.
        ASSERT_TRUE(table->select_kernel(width, "scalar"));
        ASSERT_TRUE(table->build(rules));
        EXPECT_EQ(table->kernel(), "scalar");
    }
}

TEST(acl, a_table_without_rules_has_the_first_kernel) {
    auto table = *classifier4::create({.measure_kernels = true});
    const std::string first(table->kernel());
    ASSERT_TRUE(table->build({}));
    EXPECT_EQ(table->kernel(), first);
}

TEST(acl, wrong_rules_are_refused) {
    auto table = *classifier4::create({});
    const auto refused = [&](auto change, const char* why) {
        rule r;
        change(r);
        const auto added = table->add(r);
        ASSERT_FALSE(added);
        EXPECT_EQ(added.error().code, EINVAL);
        EXPECT_NE(added.error().text.find(why), std::string::npos) << added.error().text;
        const rule rules[] = {rule{}, r};
        const auto built = table->build(rules);
        ASSERT_FALSE(built);
        EXPECT_NE(built.error().text.find("rule 1"), std::string::npos) << built.error().text;
    };
    refused([](rule& r) { r.priority = 0; }, "priorities");
    refused([](rule& r) { r.priority = max_priority + 1; }, "priorities");
    refused([](rule& r) { r.user_data = 0; }, "user data");
    refused([](rule& r) { r.categories = 0; }, "categories");
    refused([](rule& r) { r.categories = 1 << 16; }, "categories");
    refused([](rule& r) { r.source_port = {2, 1}; }, "ends before");
    refused([](rule& r) { r.icmp_type = 8; }, "ICMP");
    refused([](rule& r) { r.source.mask[4] = 1; }, "four bytes");
    EXPECT_EQ(table->size(), 0U);
}

TEST(acl, explain_says_who_won_and_who_else_matched) {
    rules_maker make(11);
    make.categories = 16;
    const auto rules = make.many<key6>(300);
    const auto table = made<key6>("scalar", rules);
    size_t others = 0;
    for (const key6& key : make.keys<key6>(rules, 300))
        for (const unsigned category : {0U, 3U}) {
            const auto why = table->explain(key, category);
            const auto result = why.winner ? rules[*why.winner].user_data : 0;
            EXPECT_TRUE(sorted_rules(rules).right(key, category, result));
            for (const rule_id id : why.others) EXPECT_TRUE(rule_matches(key, rules[id]));
            const auto matching = std::count_if(
                rules.begin(), rules.end(), [&](const rule& r) { return rule_matches(key, r); });
            EXPECT_EQ(why.others.size() + why.winner.has_value(), size_t(matching));
            others += why.others.size();
        }
    EXPECT_GT(others, 300U);
}

TEST(acl, statistics) {
    rules_maker make(12);
    const auto table = made<key4>("scalar", make.many<key4>(2000));
    const auto s = table->stats();
    EXPECT_EQ(s.rules, 2000U);
    EXPECT_GE(s.replication, 1);
    EXPECT_LE(s.replication, 8);
    EXPECT_GT(s.leaves, 10U);
    EXPECT_GT(s.depth, 0U);
    EXPECT_GE(s.reserved_bytes, s.live_bytes);
    EXPECT_EQ(s.rebuilds, 2U);  // the empty set, and this
}

}  // namespace
}  // namespace turnpike::acl::test
