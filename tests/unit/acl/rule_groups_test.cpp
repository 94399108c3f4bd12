// SPDX-License-Identifier: BSD-3-Clause
// The division of rules into groups: a key's groups have every rule that matches it.
#include "acl/rule_groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "oracle.hpp"

namespace turnpike::acl::test {
namespace {

template <unsigned Words>
std::vector<key_byte> all_bytes() {
    std::vector<key_byte> out;
    for (unsigned w = 0; w < Words; ++w)
        for (const unsigned shift : {24U, 16U, 8U, 0U}) {
            const bool low_port =
                w == packed_rule<Words>::ports_word && (shift == 16 || shift == 0);
            const bool classes = w == Words - vlan_from_end && shift < 16;
            if (!low_port && !classes) out.push_back({w, shift});
        }
    return out;
}

template <class Key>
std::vector<packed_rule<sizeof(Key) / 4>> packed(const std::vector<rule>& rules) {
    std::vector<packed_rule<sizeof(Key) / 4>> out;
    for (const rule& r : rules) out.push_back(*pack<sizeof(Key) / 4>(r));
    return out;
}

template <class Key>
std::array<uint32_t, sizeof(Key) / 4> words_of(const Key& k) {
    std::array<uint32_t, sizeof(Key) / 4> out;
    for (size_t w = 0; w < out.size(); ++w)
        out[w] = load_be<uint32_t>(reinterpret_cast<const uint8_t*>(&k) + 4 * w);
    return with_classes(out);
}

/// The group of a key, and how many nodes lead to it.
template <size_t Words>
std::pair<const std::vector<uint32_t>*, uint32_t> group_of(const rule_groups& part,
                                                           const std::array<uint32_t, Words>& key) {
    rule_groups::child at = part.root;
    uint32_t nodes = 0;
    for (; !at.group; ++nodes) {
        const rule_groups::node& n = part.nodes[at.number];
        at = n.children[key[n.byte.word] >> n.byte.shift & 0xff];
    }
    return {&part.groups[at.number], nodes};
}

template <class Key>
void expect_all_matches(const std::vector<rule>& rules, const std::vector<rule_groups>& parts,
                        size_t most, rules_maker& make) {
    constexpr unsigned words = sizeof(Key) / 4;
    const auto in_words = packed<Key>(rules);
    for (const rule_groups& p : parts) {
        uint64_t copies = 0;
        for (const auto& group : p.groups) {
            EXPECT_LE(group.size(), most);
            EXPECT_TRUE(std::ranges::is_sorted(group));
            copies += group.size();
        }
        EXPECT_EQ(p.copies, copies);
        EXPECT_LE(copies, 4 * rules.size());
    }
    for (const Key& k : make.template keys<Key>(rules, 500)) {
        const auto key = words_of(k);
        std::vector<uint32_t> found;
        for (const rule_groups& p : parts) {
            const auto [group, nodes] = group_of(p, key);
            EXPECT_LE(nodes, p.levels);
            for (const uint32_t i : *group)
                if (matches<words>(in_words[i], key)) found.push_back(i);
        }
        std::ranges::sort(found);
        std::vector<uint32_t> expected;
        for (uint32_t i = 0; i < rules.size(); ++i)
            if (matches<words>(in_words[i], key)) expected.push_back(i);
        ASSERT_EQ(found, expected) << "each once, in one part";
    }
}

template <class Key>
class acl_groups : public ::testing::Test {};
using keys = ::testing::Types<key4, key6>;
TYPED_TEST_SUITE(acl_groups, keys);

/// Narrow rules, so that they can be divided; and some that are not.
template <class Key>
std::vector<rule> divisible(rules_maker& make, size_t n) {
    std::vector<rule> rules = make.many<Key>(n);
    for (rule& r : rules) {
        const auto block = static_cast<uint8_t>(make(200));
        if (make(20) == 0) continue;
        r.source.value[1] = block;
        r.source.mask[0] = r.source.mask[1] = 0xff;
    }
    return rules;
}

TYPED_TEST(acl_groups, have_every_rule_that_a_key_matches) {
    constexpr unsigned words = sizeof(TypeParam) / 4;
    rules_maker make(91);
    for (const size_t n : {1U, 31U, 300U, 2000U, 9000U}) {
        const auto rules = divisible<TypeParam>(make, n);
        const auto in_words = packed<TypeParam>(rules);
        const auto bytes = all_bytes<words>();
        for (const size_t most : {255U, 511U, 1023U})
            for (const unsigned parts : {1U, 2U}) {
                const auto found = divide<words>(in_words, bytes, most, parts);
                if (found.empty()) {
                    EXPECT_TRUE(n > most || parts == 2);
                    continue;
                }
                EXPECT_EQ(found.size(), parts);
                expect_all_matches<TypeParam>(rules, found, most, make);
                if (this->HasFatalFailure()) return;
            }
    }
    const auto many = packed<TypeParam>(divisible<TypeParam>(make, 9000));
    EXPECT_FALSE(divide<words>(many, all_bytes<words>(), 1023, 2).empty());
}

/// Rules by port only are divided by the high byte, ranges over several among them.
TYPED_TEST(acl_groups, by_ports) {
    constexpr unsigned words = sizeof(TypeParam) / 4;
    rules_maker make(92);
    std::vector<rule> rules(3000);
    for (rule& r : rules) {
        const auto first = static_cast<uint16_t>(make(65536));
        r.destination_port = {first,
                              static_cast<uint16_t>(std::min<uint64_t>(65535, first + make(600)))};
    }
    const auto found = divide<words>(packed<TypeParam>(rules), all_bytes<words>(), 255, 1);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_GT(found[0].groups.size(), 11U);
    expect_all_matches<TypeParam>(rules, found, 255, make);
}

/// Half of the rules by source only, half by destination only: each byte of one copies the others into all groups.
TYPED_TEST(acl_groups, of_two_parts) {
    constexpr unsigned words = sizeof(TypeParam) / 4;
    rules_maker make(93);
    std::vector<rule> rules(4000);
    for (size_t i = 0; i < rules.size(); ++i) {
        address_match& a = i % 2 == 0 ? rules[i].source : rules[i].destination;
        a.value[0] = static_cast<uint8_t>(make(256));
        a.value[1] = static_cast<uint8_t>(make(256));
        a.mask[0] = a.mask[1] = 0xff;
    }
    const auto in_words = packed<TypeParam>(rules);
    EXPECT_TRUE(divide<words>(in_words, all_bytes<words>(), 255, 1).empty());
    const auto found = divide<words>(in_words, all_bytes<words>(), 255, 2);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].copies + found[1].copies, rules.size());
    expect_all_matches<TypeParam>(rules, found, 255, make);
}

/// The same rule over and over cannot be divided.
TYPED_TEST(acl_groups, not_of_equal_rules) {
    constexpr unsigned words = sizeof(TypeParam) / 4;
    rules_maker make(94);
    const std::vector<rule> rules(300, make.any<TypeParam>());
    const auto in_words = packed<TypeParam>(rules);
    EXPECT_TRUE(divide<words>(in_words, all_bytes<words>(), 255, 2).empty());
    EXPECT_EQ(divide<words>(in_words, all_bytes<words>(), 511, 1).size(), 1U);
}

}  // namespace
}  // namespace turnpike::acl::test
