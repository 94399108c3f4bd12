// SPDX-License-Identifier: BSD-3-Clause
// Bit vectors: every kernel against a linear scan and against the trees, at the sizes where vectors grow; when a table has
// them; and keys in rte_acl's layouts.
#include <gtest/gtest.h>

#include <algorithm>

#include "acl/bit_vectors.hpp"
#include "lib/isa_param.hpp"
#include "lib/sanitized.hpp"
#include "oracle.hpp"

namespace turnpike::acl::test {
namespace {

template <class Key>
bool has_vectors(const classifier<Key>& table) {
    EXPECT_EQ(table.stats().vector_bytes != 0, table.readers_view()->vectors != nullptr);
    return table.readers_view()->vectors != nullptr;
}

template <class Key>
void expect_right(const classifier<Key>& table, const std::vector<rule>& rules, rules_maker& make,
                  size_t n = turnpike::test::emulated ? 100 : 300, unsigned categories = 1) {
    const sorted_rules oracle(rules);
    const auto keys = make.template keys<Key>(rules, n);
    std::vector<uint32_t> results(n * categories, 0xdead'beef);
    table.classify(pointers(keys), results, categories);
    for (size_t i = 0; i < n; ++i)
        for (unsigned c = 0; c < categories; ++c)
            ASSERT_TRUE(oracle.right(keys[i], c, results[i * categories + c]))
                << rules.size() << " rules, key " << i << ", category " << c;
}

/// No byte of a key tells such rules apart.
void undividable(rule& r) {
    rule same;
    same.tcp_flags = {0x0002, 0x0012};
    same.priority = r.priority;
    same.categories = r.categories;
    same.user_data = r.user_data;
    r = same;
}

class acl_vectors : public ::testing::TestWithParam<std::string> {};

template <class Key>
void every_size(const std::string& kernel) {
    auto table = *classifier<Key>::create({.kernel = kernel});
    EXPECT_FALSE(has_vectors(*table)) << "no rules";
    for (const unsigned size :
         {1U, 2U, 31U, 32U, 33U, 255U, 256U, 511U, 512U, 1023U, 1024U, 2046U, 2047U}) {
        if (turnpike::test::emulated && size % 2 == 0) continue;
        rules_maker make(size);
        make.priorities = size % 2 == 0 ? 1000 : max_priority;
        const auto rules = make.many<Key>(size);
        ASSERT_TRUE(table->build(rules));
        ASSERT_TRUE(has_vectors(*table)) << size;
        const bit_vectors& v = *table->readers_view()->vectors;
        EXPECT_GT(8U * v.vector_bytes * v.groups, size);
        expect_right(*table, rules, make);
        if (::testing::Test::HasFatalFailure()) return;
    }
}

/// Lists in each form: vectors of every length, one part and two, one group and many; and a list without any.
template <class Key>
void every_form(const std::string& kernel) {
    const struct {
        size_t undividable, by_source, by_destination;
        unsigned vector_bytes, parts;
    } cases[] = {{0, 1000, 0, 32, 1},    {0, 2000, 2000, 32, 2}, {200, 1000, 0, 64, 1},
                 {450, 2000, 0, 128, 1}, {900, 0, 0, 128, 1},    {900, 1000, 0, 256, 1},
                 {900, 3000, 0, 0, 0}};
    rules_maker make(77);
    for (const auto& c : cases)
        for (const unsigned categories : {1U, 4U}) {
            if (turnpike::test::emulated && categories == 1) continue;
            make.categories = categories == 1 ? 0 : 1U << max_categories;
            auto rules = make.many<Key>(c.undividable + c.by_source + c.by_destination);
            for (size_t i = 0; i < rules.size(); ++i) {
                if (i < c.undividable) {
                    undividable(rules[i]);
                    continue;
                }
                const bool source = i - c.undividable < c.by_source;
                (source ? rules[i].destination : rules[i].source) = {};
                address_match& narrow = source ? rules[i].source : rules[i].destination;
                narrow.value[0] = static_cast<uint8_t>(make(4));
                narrow.value[1] = static_cast<uint8_t>(make(256));
                narrow.mask[0] = narrow.mask[1] = 0xff;
            }
            auto table = *classifier<Key>::create({.kernel = kernel});
            ASSERT_TRUE(table->build(rules));
            expect_right(*table, rules, make, turnpike::test::emulated ? 40 : 150, categories);
            if (::testing::Test::HasFatalFailure()) return;
            const bit_vectors* const v = table->readers_view()->vectors;
            EXPECT_EQ(v != nullptr ? v->vector_bytes : 0U, c.vector_bytes) << rules.size();
            EXPECT_EQ(v != nullptr ? v->parts : 0U, c.parts) << rules.size();
        }
}

TEST_P(acl_vectors, every_form_ipv4) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, classify_kernels());
    every_form<key4>(GetParam());
}
TEST_P(acl_vectors, every_form_ipv6) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, classify_kernels());
    every_form<key6>(GetParam());
}

TEST_P(acl_vectors, every_size_ipv4) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, classify_kernels());
    every_size<key4>(GetParam());
}
TEST_P(acl_vectors, every_size_ipv6) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, classify_kernels());
    every_size<key6>(GetParam());
}

TEST_P(acl_vectors, every_burst_and_category) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, classify_kernels());
    for (const unsigned size : {200U, 400U, 800U, 1500U}) {
        if (turnpike::test::emulated && size > 200 && size < 1500) continue;
        rules_maker make(size);
        make.categories = 1U << max_categories;
        const auto rules = make.many<key4>(size);
        auto table = *classifier4::create({.kernel = GetParam()});
        ASSERT_TRUE(table->build(rules));
        for (const unsigned categories : {1U, 4U, 8U, 12U, 16U})
            for (unsigned n = 0; n <= 19; ++n) {
                expect_right(*table, rules, make, n, categories);
                if (HasFatalFailure()) return;
                const auto keys = make.keys<key4>(rules, n);
                std::vector<uint32_t> results(n * categories + 1, 0xdead'beef);
                table->classify(pointers(keys), {results.data(), n * categories}, categories);
                ASSERT_EQ(results.back(), 0xdead'beef) << "written behind the last result";
            }
    }
}

INSTANTIATE_TEST_SUITE_P(isa, acl_vectors,
                         ::testing::ValuesIn(turnpike::test::kernel_names(classify_kernels())),
                         turnpike::test::isa_name);

/// Ends of ranges: port 0, 65535, a range of one port, all ports; several rules that begin and end together.
TEST(acl_vectors, the_ends_of_ranges) {
    std::vector<rule> rules;
    const port_range ranges[] = {{0, 0},     {65535, 65535}, {0, 255},  {256, 511},
                                 {255, 256}, {80, 80},       {0, 65535}};
    for (const port_range& source : ranges)
        for (const port_range& destination : ranges) {
            rule r;
            r.source_port = source;
            r.destination_port = destination;
            r.priority = static_cast<uint32_t>(100 - rules.size());
            r.user_data = static_cast<uint32_t>(rules.size() + 1);
            if (source != port_range{} || destination != port_range{}) rules.push_back(r);
        }
    auto table = *classifier4::create({});
    ASSERT_TRUE(table->build(rules));
    ASSERT_TRUE(has_vectors(*table));
    const sorted_rules oracle(rules);
    const uint16_t ports[] = {0, 1, 79, 80, 81, 254, 255, 256, 257, 511, 512, 65534, 65535};
    for (const uint16_t source : ports)
        for (const uint16_t destination : ports) {
            key4 k{};
            k.source_port = source;
            k.destination_port = destination;
            const key4* at[] = {&k};
            uint32_t result = 0;
            table->classify(at, {&result, 1});
            ASSERT_TRUE(oracle.right(k, 0, result)) << source << " " << destination;
        }
}

TEST(acl_vectors, changes_drop_them_until_optimize) {
    rules_maker make(41);
    auto rules = make.many<key4>(300);
    auto table = *classifier4::create({});
    ASSERT_TRUE(table->build(rules));
    ASSERT_TRUE(has_vectors(*table));
    for (int round = 0; round < 20; ++round) {
        const auto id = static_cast<rule_id>(make(300));
        ASSERT_TRUE(table->remove(id));
        EXPECT_FALSE(has_vectors(*table));
        rules[id] = make.any<key4>();
        ASSERT_EQ(*table->add(rules[id]), id);
        EXPECT_FALSE(has_vectors(*table));
        expect_right(*table, rules, make);
        table->optimize();
        ASSERT_TRUE(has_vectors(*table));
        expect_right(*table, rules, make);
        if (HasFatalFailure()) return;
        const auto* const now = table->readers_view()->vectors;
        table->optimize();
        EXPECT_EQ(table->readers_view()->vectors, now) << "made twice";
    }
}

/// Rules that no packet can reach are in no vector: a change of them changes nothing.
TEST(acl_vectors, hidden_rules) {
    rules_maker make(42);
    std::vector<rule> rules = make.many<key4>(2500);
    for (rule& r : rules) undividable(r);
    rule all;
    all.priority = 700;
    for (rule& r : rules) r.priority = 1 + r.priority % 1000;
    rules.push_back(all);
    auto table = *classifier4::create({});
    ASSERT_TRUE(table->build(rules));
    EXPECT_GT(table->stats().hidden, 500U);
    EXPECT_TRUE(has_vectors(*table)) << "the reachable ones are few enough";
    rule hidden = make.any<key4>();
    hidden.priority = 5;
    const auto id = table->add(hidden);
    ASSERT_TRUE(id);
    EXPECT_TRUE(has_vectors(*table));
    ASSERT_TRUE(table->remove(*id));
    EXPECT_TRUE(has_vectors(*table));
    expect_right(*table, rules, make);
    const auto of_all = static_cast<rule_id>(rules.size() - 1);
    ASSERT_TRUE(table->remove(of_all));
    rules.pop_back();
    EXPECT_FALSE(has_vectors(*table));
    table->optimize();
    EXPECT_FALSE(has_vectors(*table)) << "all can be reached now";
    expect_right(*table, rules, make);
}

TEST(acl_vectors, as_the_configuration_says) {
    rules_maker make(43);
    const auto rules = make.many<key4>(100);
    auto none = *classifier4::create({.vector_rules = 0});
    ASSERT_TRUE(none->build(rules));
    EXPECT_FALSE(has_vectors(*none));
    auto few = *classifier4::create({.vector_rules = 99});
    ASSERT_TRUE(few->build(rules));
    EXPECT_FALSE(has_vectors(*few));
    ASSERT_TRUE(few->remove(0));
    few->optimize();
    EXPECT_TRUE(has_vectors(*few));
}

/// More intervals of ports than a group can name: the trees.
TEST(acl_vectors, too_many_intervals) {
    std::vector<rule> rules(2040);
    for (uint32_t i = 0; i < rules.size(); ++i) {
        rules[i].destination_port = {static_cast<uint16_t>(10 + 20 * i),
                                     static_cast<uint16_t>(20012 + 20 * i)};
        rules[i].priority = i + 1;
        rules[i].user_data = i + 1;
    }
    auto table = *classifier4::create({});
    ASSERT_TRUE(table->build(rules));
    EXPECT_FALSE(has_vectors(*table)) << "4,081 different vectors of 256 bytes";
    rules_maker make(45);
    expect_right(*table, rules, make);
    for (uint32_t i = 0; i < rules.size(); ++i)
        rules[i].destination_port.last = static_cast<uint16_t>(12 + 20 * i);
    ASSERT_TRUE(table->build(rules));
    EXPECT_TRUE(has_vectors(*table)) << "in groups";
    expect_right(*table, rules, make);
}

/// Memory for readers that does not reach for both: the trees.
TEST(acl_vectors, without_room_for_them) {
    rules_maker make(44);
    const auto rules = make.many<key4>(600);
    auto plain = *classifier4::create({.vector_rules = 0});
    ASSERT_TRUE(plain->build(rules));
    const uint64_t trees = plain->stats().reserved_bytes;
    auto wide = *classifier4::create({.max_bytes = trees + 1'000'000});
    ASSERT_TRUE(wide->build(rules));
    const uint64_t vectors = wide->stats().vector_bytes;
    ASSERT_NE(vectors, 0U);
    EXPECT_EQ(wide->stats().reserved_bytes, trees + vectors);
    auto narrow = *classifier4::create({.max_bytes = 2 * trees + vectors - 1});
    ASSERT_TRUE(narrow->build(rules));
    EXPECT_FALSE(has_vectors(*narrow));
    narrow->optimize();
    EXPECT_FALSE(has_vectors(*narrow));
    EXPECT_EQ(narrow->stats().reserved_bytes, trees);
    expect_right(*narrow, rules, make);
}

/// They leave the room that a change's trees need beside the trees in use.
TEST(acl_vectors, a_change_fits_beside_them) {
    rules_maker make(47);
    const auto rules = make.many<key4>(1500);
    auto plain = *classifier4::create({.vector_rules = 0});
    ASSERT_TRUE(plain->build(rules));
    const uint64_t trees = plain->stats().reserved_bytes;
    bool seen = false;
    for (uint64_t limit = 2 * trees + 100'000; limit < 2 * trees + 2'000'000; limit += 100'000) {
        std::vector<rcu::deferred> later;
        {
            auto table = *classifier4::create(
                {.max_bytes = limit,
                 .defer_free = {&later, [](void* to, rcu::deferred item) {
                                    static_cast<std::vector<rcu::deferred>*>(to)->push_back(item);
                                }}});
            ASSERT_TRUE(table->build(rules));
            seen |= has_vectors(*table);
            ASSERT_TRUE(table->build(rules)) << limit << ": readers may hold the first generation";
            EXPECT_EQ(table->stats().reserved_bytes - table->stats().vector_bytes, trees)
                << limit << ": not smaller, slower trees";
        }
        for (const rcu::deferred& d : later) d.release(d.owner, d.what);
    }
    EXPECT_TRUE(seen) << "no limit was high enough for bit vectors";
}

TEST(acl_vectors, dropped_until_the_next_build) {
    rules_maker make(48);
    const auto rules = make.many<key4>(300);
    auto table = *classifier4::create({});
    ASSERT_TRUE(table->build(rules));
    ASSERT_TRUE(has_vectors(*table));
    table->drop_vectors();
    EXPECT_FALSE(has_vectors(*table));
    table->optimize();
    EXPECT_FALSE(has_vectors(*table)) << "the caller said so";
    expect_right(*table, rules, make);
    ASSERT_TRUE(table->build(rules));
    EXPECT_TRUE(has_vectors(*table));
    ASSERT_TRUE(table->remove(0));
    EXPECT_FALSE(has_vectors(*table));
    table->optimize();
    EXPECT_TRUE(has_vectors(*table)) << "a build ends drop_vectors()";
}

}  // namespace
}  // namespace turnpike::acl::test
