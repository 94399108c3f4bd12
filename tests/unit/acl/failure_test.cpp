// SPDX-License-Identifier: BSD-3-Clause
// Every change with every one of its allocations failing, from operator new and from the table's
// own hook: it reports ENOMEM and the set is exactly as it was, or it worked all the same.
#include <gtest/gtest.h>

#include <map>
#include <new>

#include "lib/failing_new.hpp"
#include "lib/sanitized.hpp"
#include "oracle.hpp"

namespace turnpike::acl::test {
namespace {

using turnpike::test::allocations_until_failure;
using turnpike::test::largest_allocation;
using turnpike::test::never;

config failing_config() {
    return {.name = "a name too long for the small string",
            .allocator = turnpike::test::failing_memory()};
}

/// The results for these keys in every category.
template <class Key>
std::vector<uint32_t> answers(const classifier<Key>& table, const std::vector<Key>& keys) {
    std::vector<uint32_t> out(keys.size() * 4);
    table.classify(pointers(keys), out, 4);
    return out;
}

/// Run `change` with its n-th allocation and all later ones failing, for n = 0 until it works. Past
/// the first few, n grows by steps: a build makes thousands.
template <class Key, class Change>
void fail_each(classifier<Key>& table, const std::vector<Key>& keys, const Change& change) {
    const auto before = answers(table, keys);
    const uint32_t size = table.size();
    for (long n = 0;; n += 1 + n / 8) {
        ASSERT_LT(n, 10'000'000);
        allocations_until_failure = n;
        const auto ok = change(table);
        allocations_until_failure = never;
        if (ok) return;
        ASSERT_EQ(ok.error().code, ENOMEM);
        ASSERT_EQ(table.size(), size) << "allocation " << n;
        ASSERT_EQ(answers(table, keys), before) << "allocation " << n;
    }
}

template <class Key>
class acl_failures : public ::testing::Test {};
using families = ::testing::Types<key4, key6>;
TYPED_TEST_SUITE(acl_failures, families);

TYPED_TEST(acl_failures, create_fails_whole) {
    const config c = failing_config();
    for (long n = 0;; ++n) {
        ASSERT_LT(n, 10'000);
        allocations_until_failure = n;
        const auto made = classifier<TypeParam>::create(c);
        allocations_until_failure = never;
        if (made) return;
        ASSERT_EQ(made.error().code, ENOMEM);
    }
}

TYPED_TEST(acl_failures, every_change_fails_whole) {
    rules_maker make(31);
    make.categories = 16;
    auto table = *classifier<TypeParam>::create(failing_config());
    std::map<rule_id, rule> there;
    const auto first = make.template many<TypeParam>(120);
    auto keys = make.template keys<TypeParam>(first, 200);
    fail_each(*table, keys, [&](auto& t) { return t.build(first); });
    if (::testing::Test::HasFatalFailure()) return;
    for (const rule& r : first) there[static_cast<rule_id>(there.size())] = r;
    for (int step = 0; step < (turnpike::test::sanitized ? 20 : 60); ++step) {
        const rule r = make.template any<TypeParam>();
        keys[make(keys.size())] = make.template key_of<TypeParam>(r);
        rule_id id = 0;
        fail_each(*table, keys, [&](auto& t) {
            auto added = t.add(r);
            if (added) id = *added;
            return added;
        });
        if (::testing::Test::HasFatalFailure()) return;
        ASSERT_TRUE(there.emplace(id, r).second);
        allocations_until_failure = step;  // with or without bit vectors, the next change begins
        table->optimize();
        allocations_until_failure = never;
        if (step % 2 == 0) continue;
        const auto victim = std::next(there.begin(), static_cast<long>(make(there.size())));
        fail_each(*table, keys, [&](auto& t) { return t.remove(victim->first); });
        if (::testing::Test::HasFatalFailure()) return;
        there.erase(victim);
    }
    const auto second = make.template many<TypeParam>(200);
    const auto results = answers(*table, keys);
    for (size_t i = 0; i < keys.size(); ++i)
        for (unsigned c = 0; c < 4; ++c) ASSERT_TRUE(right(there, keys[i], c, results[4 * i + c]));
    fail_each(*table, keys, [&](auto& t) { return t.build(second); });
    EXPECT_EQ(table->size(), 200U);
}

/// Bit vectors that do not come about leave nothing behind, and the trees go on.
TYPED_TEST(acl_failures, bit_vectors_need_every_allocation) {
    rules_maker make(33);
    make.categories = 16;
    const auto rules = make.template many<TypeParam>(300);
    const config c = failing_config();
    auto table = *classifier<TypeParam>::create(c);
    ASSERT_TRUE(table->build(rules));
    ASSERT_TRUE(table->remove(299));
    const auto keys = make.template keys<TypeParam>(rules, 50);
    const auto before = answers(*table, keys);
    const uint64_t bytes = table->stats().reserved_bytes;
    for (long n = 0; table->stats().vector_bytes == 0; ++n) {
        ASSERT_LT(n, 100'000);
        ASSERT_EQ(table->stats().reserved_bytes, bytes);
        allocations_until_failure = n;
        table->optimize();
        allocations_until_failure = never;
        ASSERT_EQ(answers(*table, keys), before) << "allocation " << n;
    }
}

// A cut is chosen by a sample, each n/256-th rule. Here it sees the rules of one direction only, and the other direction's
// rules are in all children.
TYPED_TEST(acl_failures, a_sample_that_sees_half_of_the_rules_takes_no_gigabyte) {
    constexpr size_t bytes = sizeof(TypeParam::source), hosts = 5120;
    rules_maker make(49);
    const address_match inside{{10}, {0xff}};
    std::vector<rule> rules;
    for (size_t i = 0; i < hosts; ++i) {
        address_match host;
        for (size_t k = 0; k < bytes; ++k) {
            host.value[k] = static_cast<uint8_t>(make(256));
            host.mask[k] = 0xff;
        }
        for (const bool out : {false, true}) {
            rule r;
            (out ? r.source : r.destination) = host;
            (out ? r.destination : r.source) = inside;
            r.priority = static_cast<uint32_t>(2 * hosts - rules.size());
            r.user_data = static_cast<uint32_t>(rules.size() + 1);
            rules.push_back(r);
        }
    }
    auto table = *classifier<TypeParam>::create({.vector_rules = 0});
    largest_allocation = 0;
    ASSERT_TRUE(table->build(rules));
    EXPECT_LT(largest_allocation, 64U << 20) << "bytes at once";
    const sorted_rules oracle(rules);
    const auto keys = make.template keys<TypeParam>(rules, 50);
    std::vector<uint32_t> results(keys.size());
    table->classify(pointers(keys), results);
    for (size_t i = 0; i < keys.size(); ++i) ASSERT_TRUE(oracle.right(keys[i], 0, results[i]));
}

// Without memory for a new generation, a removal either succeeds or leaves the rule; nothing
// between.
TYPED_TEST(acl_failures, remove_without_memory_keeps_the_rule_or_takes_it) {
    rules_maker make(32);
    const auto rules = make.template many<TypeParam>(600);
    auto table = *classifier<TypeParam>::create(failing_config());
    ASSERT_TRUE(table->build(rules));
    std::map<rule_id, rule> there;
    for (const rule& r : rules) there[static_cast<rule_id>(there.size())] = r;
    const auto keys = make.template keys<TypeParam>(rules, 50);
    for (rule_id id = 0; id < 600; id += 3) {
        allocations_until_failure = static_cast<long>(id % 40);
        const auto ok = table->remove(id);
        allocations_until_failure = never;
        if (ok) there.erase(id);
        ASSERT_EQ(table->size(), there.size());
    }
    const auto results = answers(*table, keys);
    for (size_t i = 0; i < keys.size(); ++i) ASSERT_TRUE(right(there, keys[i], 0, results[4 * i]));
}

}  // namespace
}  // namespace turnpike::acl::test
