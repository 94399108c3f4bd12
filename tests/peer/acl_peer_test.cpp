// SPDX-License-Identifier: BSD-3-Clause
// With EAL: the C layer beside rte_acl: the same rules, the same headers, the same results, for
// layouts of every kind; and rte_acl's rules that keys cannot hold are refused.
#include <gtest/gtest.h>
#include <rte_acl.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "acl/tpk_acl.h"
#include "lib/any_cpu.hpp"

namespace {

constexpr unsigned max_fields = 16, header_bytes = 64, headers = 4000, rule_count = 60;

struct field_kind {
    uint8_t type, size, input_index;
    uint32_t offset;
};

/// rte_acl wants one byte first, then groups of four.
const std::vector<field_kind> five_tuple{{RTE_ACL_FIELD_TYPE_BITMASK, 1, 0, 0},
                                         {RTE_ACL_FIELD_TYPE_MASK, 4, 1, 3},
                                         {RTE_ACL_FIELD_TYPE_MASK, 4, 2, 7},
                                         {RTE_ACL_FIELD_TYPE_RANGE, 2, 3, 11},
                                         {RTE_ACL_FIELD_TYPE_RANGE, 2, 3, 13}};
const std::vector<field_kind> with_vlan{
    {RTE_ACL_FIELD_TYPE_BITMASK, 1, 0, 0}, {RTE_ACL_FIELD_TYPE_BITMASK, 2, 1, 2},
    {RTE_ACL_FIELD_TYPE_BITMASK, 2, 1, 4}, {RTE_ACL_FIELD_TYPE_MASK, 4, 2, 8},
    {RTE_ACL_FIELD_TYPE_MASK, 4, 3, 12},   {RTE_ACL_FIELD_TYPE_RANGE, 2, 4, 16},
    {RTE_ACL_FIELD_TYPE_RANGE, 2, 4, 18}};
const std::vector<field_kind> ipv6_five_tuple{
    {RTE_ACL_FIELD_TYPE_BITMASK, 1, 0, 0}, {RTE_ACL_FIELD_TYPE_MASK, 4, 1, 2},
    {RTE_ACL_FIELD_TYPE_MASK, 4, 2, 6},    {RTE_ACL_FIELD_TYPE_MASK, 4, 3, 10},
    {RTE_ACL_FIELD_TYPE_MASK, 4, 4, 14},   {RTE_ACL_FIELD_TYPE_MASK, 4, 5, 18},
    {RTE_ACL_FIELD_TYPE_MASK, 4, 6, 22},   {RTE_ACL_FIELD_TYPE_MASK, 4, 7, 26},
    {RTE_ACL_FIELD_TYPE_MASK, 4, 8, 30},   {RTE_ACL_FIELD_TYPE_RANGE, 2, 9, 34},
    {RTE_ACL_FIELD_TYPE_RANGE, 2, 9, 36}};
const std::vector<field_kind> four_bytes{
    {RTE_ACL_FIELD_TYPE_BITMASK, 1, 0, 1}, {RTE_ACL_FIELD_TYPE_RANGE, 1, 1, 4},
    {RTE_ACL_FIELD_TYPE_RANGE, 1, 1, 5},   {RTE_ACL_FIELD_TYPE_MASK, 1, 1, 6},
    {RTE_ACL_FIELD_TYPE_BITMASK, 1, 1, 7}, {RTE_ACL_FIELD_TYPE_RANGE, 4, 2, 8}};

RTE_ACL_RULE_DEF(rte_rule, max_fields);
static_assert(sizeof(rte_acl_field) == sizeof(tpk_acl_field) &&
              sizeof(rte_acl_field_def) == sizeof(tpk_acl_field_def) &&
              offsetof(rte_acl_config, max_size) == offsetof(tpk_acl_config, max_size));

class acl_layout : public ::testing::TestWithParam<std::vector<field_kind>> {
  protected:
    uint64_t any(uint64_t below) { return random_() % below; }

    rte_rule any_rule(int32_t priority) {
        rte_rule r{};
        r.data.priority = priority;
        r.data.userdata = static_cast<uint32_t>(priority);
        r.data.category_mask = 1u + static_cast<uint32_t>(any(15));
        for (size_t i = 0; i < GetParam().size(); ++i) {
            const auto& f = GetParam()[i];
            const uint64_t all = f.size == 4 ? 0xffff'ffff : (1u << 8 * f.size) - 1;
            uint64_t value = any(5) * (all / 255), other = 0;
            switch (f.type) {
                case RTE_ACL_FIELD_TYPE_MASK: {
                    const auto length = any(3) == 0 ? 0 : any(8u * f.size + 1);
                    value &= length == 0 ? 0 : all & (all << (8u * f.size - length));
                    other = length;
                    break;
                }
                case RTE_ACL_FIELD_TYPE_BITMASK:
                    other = any(3) == 0 ? 0 : any(3) == 0 ? all & 0x0f : all;
                    value &= other;
                    break;
                default:
                    other = value + (any(3) == 0 ? all - value : any(all - value + 1));
                    if (any(3) == 0) value = 0, other = all;
            }
            std::memcpy(&r.field[i].value, &value, 8);
            std::memcpy(&r.field[i].mask_range, &other, 8);
        }
        return r;
    }

    /// A header near the rules: each field from some rule, now and then anything.
    std::array<uint8_t, header_bytes> any_header(const std::vector<rte_rule>& rules) {
        std::array<uint8_t, header_bytes> h;
        for (auto& b : h) b = static_cast<uint8_t>(random_());
        for (size_t i = 0; i < GetParam().size(); ++i) {
            if (any(8) == 0) continue;
            const auto& f = GetParam()[i];
            uint64_t v = rules[any(rules.size() / (1 + any(4)))].field[i].value.u64;
            if (any(3) == 0) v += any(3) - 1;
            for (unsigned b = 0; b < f.size; ++b)
                h[f.offset + b] = static_cast<uint8_t>(v >> 8 * (f.size - 1 - b));
        }
        return h;
    }

    rte_acl_config config(unsigned categories) {
        rte_acl_config c{};
        c.num_categories = categories;
        c.num_fields = static_cast<uint32_t>(GetParam().size());
        for (size_t i = 0; i < GetParam().size(); ++i) {
            const auto& f = GetParam()[i];
            c.defs[i] = {f.type, f.size, static_cast<uint8_t>(i), f.input_index, f.offset};
        }
        return c;
    }

    std::mt19937_64 random_{17};
};

TEST_P(acl_layout, same_answers_as_rte_acl) {
    std::vector<rte_rule> rules;
    for (int32_t i = 1; i <= static_cast<int32_t>(rule_count); ++i) rules.push_back(any_rule(i));
    const rte_acl_param param{"theirs", -1, RTE_ACL_RULE_SZ(max_fields), rule_count};
    rte_acl_ctx* theirs = rte_acl_create(&param);
    const tpk_acl_param our_param{"ours", -1, TPK_ACL_RULE_SZ(max_fields), rule_count};
    tpk_acl_ctx* ours = tpk_acl_create(&our_param);
    ASSERT_NE(theirs, nullptr);
    ASSERT_NE(ours, nullptr);
    EXPECT_EQ(tpk_acl_find_existing("ours"), ours);
    const auto* our_rules = reinterpret_cast<const tpk_acl_rule*>(rules.data());
    ASSERT_EQ(rte_acl_add_rules(theirs, reinterpret_cast<rte_acl_rule*>(rules.data()), rule_count),
              0);
    ASSERT_EQ(tpk_acl_add_rules(ours, our_rules, rule_count), 0);
    EXPECT_EQ(tpk_acl_add_rules(ours, our_rules, 1), -ENOMEM);

    std::vector<std::array<uint8_t, header_bytes>> buffers;
    for (unsigned i = 0; i < headers; ++i) buffers.push_back(any_header(rules));
    std::vector<const uint8_t*> data;
    for (const auto& b : buffers) data.push_back(b.data());
    for (const unsigned categories : {1U, 4U}) {
        const rte_acl_config c = config(categories);
        ASSERT_EQ(rte_acl_build(theirs, &c), 0);
        ASSERT_EQ(tpk_acl_build(ours, reinterpret_cast<const tpk_acl_config*>(&c)), 0);
        std::vector<uint32_t> expected(headers * categories), got(headers * categories);
        ASSERT_EQ(rte_acl_classify(theirs, data.data(), expected.data(), headers, categories), 0);
        for (int alg = 0; alg <= TPK_ACL_CLASSIFY_AVX512X32; ++alg) {
            const auto how = static_cast<enum tpk_acl_classify_alg>(alg);
            std::fill(got.begin(), got.end(), 0xdead'beef);
            const int rc =
                tpk_acl_classify_alg(ours, data.data(), got.data(), headers, categories, how);
            if (rc == -ENOTSUP) continue;
            ASSERT_EQ(rc, 0);
            ASSERT_EQ(got, expected) << "algorithm " << alg;
        }
        EXPECT_GT(std::count_if(expected.begin(), expected.end(), [](uint32_t r) { return r; }),
                  headers / 20);
    }
    EXPECT_EQ(tpk_acl_set_ctx_classify(ours, TPK_ACL_CLASSIFY_NEON), -ENOTSUP);
    EXPECT_EQ(tpk_acl_set_ctx_classify(ours, TPK_ACL_CLASSIFY_SCALAR), 0);
    tpk_acl_reset_rules(ours);
    ASSERT_EQ(tpk_acl_add_rules(ours, our_rules, rule_count), 0);
    tpk_acl_reset(ours);
    uint32_t nothing[4] = {1, 1, 1, 1};
    ASSERT_EQ(tpk_acl_classify(ours, data.data(), nothing, 1, 4), 0);
    EXPECT_EQ(nothing[0], 0U);
    tpk_acl_free(ours);
    rte_acl_free(theirs);
    EXPECT_EQ(tpk_acl_find_existing("ours"), nullptr);
    EXPECT_EQ(rte_errno, ENOENT);
}

INSTANTIATE_TEST_SUITE_P(layouts, acl_layout,
                         ::testing::Values(five_tuple, with_vlan, ipv6_five_tuple, four_bytes));

TEST(acl_layouts, what_keys_cannot_hold_is_refused) {
    const tpk_acl_param param{"refused", -1, TPK_ACL_RULE_SZ(max_fields), 10};
    tpk_acl_ctx* ctx = tpk_acl_create(&param);
    rte_rule r{};
    r.data = {1, 1, 1};
    for (auto& f : r.field) f.value.u64 = 3, f.mask_range.u64 = 20'000;
    ASSERT_EQ(tpk_acl_add_rules(ctx, reinterpret_cast<const tpk_acl_rule*>(&r), 1), 0);
    tpk_acl_config c{};
    c.num_categories = 1;
    c.num_fields = 12;
    for (unsigned i = 0; i < 12; ++i)
        c.defs[i] = {TPK_ACL_FIELD_TYPE_BITMASK, 4, static_cast<uint8_t>(i),
                     static_cast<uint8_t>(i), 4 * i};
    EXPECT_EQ(tpk_acl_build(ctx, &c), -ENOTSUP);  // 48 bytes
    c.num_fields = 5;
    for (unsigned i = 0; i < 5; ++i) c.defs[i].type = TPK_ACL_FIELD_TYPE_RANGE, c.defs[i].size = 2;
    EXPECT_EQ(tpk_acl_build(ctx, &c),
              -ENOTSUP);  // three ranges beyond the two, of 20 prefixes each
    c.defs[0].size = 3;
    EXPECT_EQ(tpk_acl_build(ctx, &c), -EINVAL);
    tpk_acl_free(ctx);
}

}  // namespace

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    const std::string cpus = turnpike::test::any_cpu();
    const char* eal[] = {"peer-acl", "--no-huge", "--no-shconf",           "--no-pci",
                         "-m",       "512",       "--log-level=lib.acl:1", cpus.c_str()};
    if (rte_eal_init(std::size(eal), const_cast<char**>(eal)) < 0) return 1;
    const int failed = RUN_ALL_TESTS();
    rte_eal_cleanup();
    return failed;
}
