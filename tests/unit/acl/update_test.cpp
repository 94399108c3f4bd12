// SPDX-License-Identifier: BSD-3-Clause
// Rules are added and removed one by one: results always equal a linear scan's, within the memory
// limit.
#include <gtest/gtest.h>

#include <cstdlib>

#include "lib/sanitized.hpp"
#include "oracle.hpp"

namespace turnpike::acl::test {
namespace {

/// Counts allocations, and refuses them beyond a limit.
struct counting_memory {
    size_t live = 0, most = 0, limit = ~size_t{0};
    std::map<void*, size_t> blocks;
    ~counting_memory() { EXPECT_EQ(live, 0U); }
    memory hook() {
        return {this,
                [](void* self, size_t bytes, size_t alignment) -> void* {
                    auto& me = *static_cast<counting_memory*>(self);
                    if (me.live + bytes > me.limit) return nullptr;
                    void* block = std::aligned_alloc(
                        alignment, (bytes + alignment - 1) / alignment * alignment);
                    me.blocks[block] = bytes;
                    me.live += bytes;
                    me.most = std::max(me.most, me.live);
                    return block;
                },
                [](void* self, void* what) {
                    auto& me = *static_cast<counting_memory*>(self);
                    me.live -= me.blocks[what];
                    me.blocks.erase(what);
                    std::free(what);
                }};
    }
};

template <class Key>
void expect_right(const classifier<Key>& table, const std::map<rule_id, rule>& rules,
                  rules_maker& make, size_t n, unsigned categories = 1) {
    std::vector<rule> list;
    for (const auto& [id, r] : rules) list.push_back(r);
    const auto keys = make.keys<Key>(list, n);
    std::vector<uint32_t> results(n * categories);
    table.classify(pointers(keys), results, categories);
    for (size_t i = 0; i < n; ++i)
        for (unsigned c = 0; c < categories; ++c)
            ASSERT_TRUE(right(rules, keys[i], c, results[i * categories + c]))
                << rules.size() << " rules, result " << results[i * categories + c];
}

template <class Key>
void sequence(uint32_t seed, bool vary) {
    counting_memory pages;
    rules_maker make(seed);
    make.categories = vary ? 16 : 0;
    auto table = *classifier<Key>::create({.allocator = pages.hook()});
    std::map<rule_id, rule> rules;
    const auto step = [&](unsigned adds_of_ten) {
        if (rules.empty() || make(10) < adds_of_ten) {
            const rule r = make.any<Key>();
            const auto id = table->add(r);
            ASSERT_TRUE(id) << id.error().message();
            ASSERT_FALSE(rules.contains(*id));
            rules[*id] = r;
        } else {
            const auto it = std::next(rules.begin(), static_cast<long>(make(rules.size())));
            ASSERT_TRUE(table->remove(it->first));
            rules.erase(it);
        }
    };
    // Grow from nothing, turn over, shrink to nothing, grow again.
    const struct {
        unsigned adds_of_ten, steps;
    } phases[] = {{9, 700}, {5, 600}, {1, 900}, {8, 200}};
    const unsigned part = turnpike::test::slow ? 3 : 1;
    for (const auto& phase : phases)
        for (unsigned i = 0; i < phase.steps / part; ++i) {
            step(phase.adds_of_ten);
            if (i % 40 == 0) table->optimize();
            if (i % 23 == 0) expect_right(*table, rules, make, 40, vary ? 4 : 1);
            if (::testing::Test::HasFatalFailure()) return;
        }
    EXPECT_EQ(table->size(), rules.size());
    EXPECT_EQ(table->stats().reserved_bytes, pages.live);
}

TEST(acl_updates, ipv4) { sequence<key4>(1, false); }
TEST(acl_updates, ipv6) { sequence<key6>(2, false); }
TEST(acl_updates, categories) { sequence<key4>(3, true); }

/// After a build: leaves are divided, wide rules go to the late tree, and the rest stays as it was.
TEST(acl_updates, on_a_built_set) {
    rules_maker make(8);
    const auto built = make.many<key4>(1200);
    auto table = *classifier4::create({});
    ASSERT_TRUE(table->build(built));
    std::map<rule_id, rule> rules;
    for (rule_id id = 0; id < built.size(); ++id) rules[id] = built[id];
    for (unsigned i = 0; i < 800; ++i) {
        rule r = make.any<key4>();
        if (i % 3 == 0) r.source = {}, r.destination = {};
        if (i % 2 == 0) r.source = built[i % 7].source;  // the same leaves again and again
        const auto id = table->add(r);
        ASSERT_TRUE(id);
        rules[*id] = r;
        if (i % 50 == 0) expect_right(*table, rules, make, 40);
        if (HasFatalFailure()) return;
    }
    for (rule_id id = 0; id < 1200; id += 2) {
        ASSERT_TRUE(table->remove(id));
        rules.erase(id);
    }
    expect_right(*table, rules, make, 500);
    EXPECT_EQ(table->remove(0).error().code, ENOENT);
    EXPECT_EQ(table->remove(1'000'000).error().code, ENOENT);
}

/// Behind a rule that matches everything stand rules that no packet comes to; they cost nothing, and
/// are there again when it goes.
void hide_and_show(uint32_t seed, unsigned categories) {
    rules_maker make(seed);
    make.categories = categories == 1 ? 0 : 16;
    auto built = make.many<key4>(1500);
    rule all;
    all.priority = 3;
    all.categories = categories == 1 ? 1 : 0xf;
    all.user_data = 77;
    const auto middle = static_cast<rule_id>(built.size());
    for (rule& r : built) r.priority = make(2) == 0 ? 2 : 4 + static_cast<uint32_t>(make(1000));
    built.push_back(all);
    auto table = *classifier4::create({});
    ASSERT_TRUE(table->build(built));
    std::map<rule_id, rule> rules;
    for (rule_id id = 0; id < built.size(); ++id) rules[id] = built[id];
    expect_right(*table, rules, make, 300, categories);
    EXPECT_GT(table->stats().hidden, 500U);
    rule late = make.any<key4>();
    late.priority = 1;
    const auto hidden = table->add(late);
    ASSERT_TRUE(hidden);
    rules[*hidden] = late;
    for (rule_id id = 0; id < 60; ++id) {
        ASSERT_TRUE(table->remove(id));
        rules.erase(id);
    }
    expect_right(*table, rules, make, 100, categories);
    rule twin = all;  // another, higher, so that the first may go and nothing shows
    twin.priority = 5;
    const auto higher = table->add(twin);
    ASSERT_TRUE(higher);
    rules[*higher] = twin;
    ASSERT_TRUE(table->remove(middle));
    rules.erase(middle);
    expect_right(*table, rules, make, 100, categories);
    ASSERT_TRUE(table->remove(*higher));
    rules.erase(*higher);
    expect_right(*table, rules, make, 300, categories);
    EXPECT_EQ(table->stats().hidden, 0U);
    ASSERT_TRUE(table->remove(*hidden));
    EXPECT_EQ(table->size(), 1440U);
}

TEST(acl_updates, what_stands_behind_a_rule_for_everything) { hide_and_show(11, 1); }
TEST(acl_updates, what_stands_behind_one_in_some_categories) { hide_and_show(12, 4); }

TEST(acl_updates, the_limit_on_memory_is_kept_and_the_set_with_it) {
    counting_memory pages;
    rules_maker make(21);
    auto table = *classifier4::create({.max_bytes = 90'000, .allocator = pages.hook()});
    // The memory of two generations of plain lists, and a little.
    const auto built = make.many<key4>(500);
    ASSERT_TRUE(table->build(built));
    std::map<rule_id, rule> rules;
    for (rule_id id = 0; id < built.size(); ++id) rules[id] = built[id];
    unsigned refused = 0;
    for (unsigned i = 0; i < 600 && refused < 3; ++i) {
        const rule r = make.any<key4>();
        const auto id = table->add(r);
        if (id)
            rules[*id] = r;
        else
            ++refused;
        ASSERT_TRUE(id || id.error().code == ENOMEM);
        ASSERT_LE(pages.most, 90'000U);
    }
    EXPECT_EQ(refused, 3U);
    expect_right(*table, rules, make, 200);
    const auto too_many = make.many<key4>(9000);
    EXPECT_EQ(table->build(too_many).error().code, ENOMEM);
    expect_right(*table, rules, make, 100);
    // Fewer rules fit beside the old ones.
    const auto few = make.many<key4>(100);
    const auto replaced = table->build(few);
    ASSERT_TRUE(replaced) << replaced.error().message();
    rules.clear();
    for (rule_id id = 0; id < few.size(); ++id) rules[id] = few[id];
    ASSERT_TRUE(table->remove(7));
    rules.erase(7);
    ASSERT_TRUE(table->add(few[7]));
    rules[7] = few[7];
    expect_right(*table, rules, make, 200);
}

TEST(acl_updates, another_limit_on_memory_holds_from_then_on) {
    rules_maker make(24);
    auto table = *classifier4::create({});
    ASSERT_TRUE(table->build(make.many<key4>(500)));
    const uint64_t bytes = table->tree_bytes();
    EXPECT_GT(bytes, 0U);
    table->limit_bytes(bytes);  // no second generation beside this one
    unsigned added = 0;
    result<rule_id> last = 0;
    for (; added < 5'000 && last; added += last.has_value()) last = table->add(make.any<key4>());
    ASSERT_FALSE(last) << added;
    EXPECT_EQ(last.error().code, ENOMEM);
    EXPECT_EQ(table->tree_bytes(), bytes);
    table->limit_bytes(1 << 30);
    EXPECT_TRUE(table->add(make.any<key4>()));
    EXPECT_EQ(table->size(), 500 + added + 1);
}

TEST(acl_updates, the_number_of_rules_is_kept) {
    rules_maker make(22);
    auto table = *classifier4::create({.max_rules = 10});
    EXPECT_EQ(table->build(make.many<key4>(11)).error().code, ENOSPC);
    ASSERT_TRUE(table->build(make.many<key4>(10)));
    EXPECT_EQ(table->add(make.any<key4>()).error().code, ENOSPC);
    ASSERT_TRUE(table->remove(3));
    EXPECT_EQ(*table->add(make.any<key4>()), 3U);
}

/// A hook that gives nothing: nothing changes.
TEST(acl_updates, without_memory_the_set_stays) {
    counting_memory pages;
    rules_maker make(23);
    auto table = *classifier4::create({.allocator = pages.hook()});
    const auto first = make.many<key4>(500);
    ASSERT_TRUE(table->build(first));
    std::map<rule_id, rule> rules;
    for (rule_id id = 0; id < first.size(); ++id) rules[id] = first[id];
    pages.limit = 0;
    EXPECT_EQ(table->build(make.many<key4>(400)).error().code, ENOMEM);
    unsigned refused = 0;
    for (unsigned i = 0; i < 400 && refused < (turnpike::test::slow ? 30U : 400U); ++i) {
        const rule r = make.any<key4>();
        const auto id = table->add(r);
        if (id)
            rules[*id] = r;
        else
            ++refused;
        ASSERT_TRUE(id || id.error().code == ENOMEM);
    }
    EXPECT_GT(refused, 0U);
    EXPECT_EQ(table->size(), rules.size());
    expect_right(*table, rules, make, 300);
}

}  // namespace
}  // namespace turnpike::acl::test
