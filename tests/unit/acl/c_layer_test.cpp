// SPDX-License-Identifier: BSD-3-Clause
// The C layer where memory ends: no exception crosses into C, and the calls of a data path need none.
#include <gtest/gtest.h>
#include <rte_errno.h>

#include <cstring>
#include <vector>

#include "acl/acl_dpdk.hpp"
#include "acl/tpk_acl.h"
#include "lib/eal.hpp"
#include "lib/failing_new.hpp"

namespace turnpike::acl::test {
namespace {

using turnpike::test::with_allocations;

constexpr char name[] = "a name too long for small strings";
constexpr char cut_name[] = "a name too long for small strin";
constexpr char another_name[] = "another one, with a long name too";

TPK_ACL_RULE_DEF(one_field, 1);

/// All values. (A number beyond the last is no value of this type in C++: it cannot be tried.)
constexpr enum tpk_acl_classify_alg algorithms[] = {
    TPK_ACL_CLASSIFY_DEFAULT,   TPK_ACL_CLASSIFY_SCALAR,   TPK_ACL_CLASSIFY_SSE,
    TPK_ACL_CLASSIFY_AVX2,      TPK_ACL_CLASSIFY_NEON,     TPK_ACL_CLASSIFY_ALTIVEC,
    TPK_ACL_CLASSIFY_AVX512X16, TPK_ACL_CLASSIFY_AVX512X32};

constexpr tpk_acl_param param{
    .name = name, .socket_id = -1, .rule_size = TPK_ACL_RULE_SZ(1), .max_rule_num = 100};

tpk_acl_config one_address() {
    tpk_acl_config c{};
    c.num_categories = 1;
    c.num_fields = 1;
    c.defs[0] = {.type = TPK_ACL_FIELD_TYPE_MASK,
                 .size = 4,
                 .field_index = 0,
                 .input_index = 0,
                 .offset = 0};
    return c;
}

/// Call until it works, with its n-th allocation and all later ones failing, for n = 0 and so on.
/// Returns how many times it did not.
template <class Call>
int failures_before_success(const Call& call) {
    for (int n = 0; n < 10'000; ++n) {
        const int result = with_allocations(n, call);
        if (result == 0) return n;
        EXPECT_EQ(result, -ENOMEM) << "allocation " << n;
    }
    ADD_FAILURE() << "it never works";
    return 0;
}

/// A context with two rules, made with every allocation failing once.
tpk_acl_ctx* made_the_hard_way() {
    tpk_acl_ctx* ctx = nullptr;
    EXPECT_GT(failures_before_success([&] {
                  ctx = tpk_acl_create(&param);
                  return ctx != nullptr ? 0 : -rte_errno;
              }),
              0);
    one_field rules[2]{};
    for (uint32_t i = 0; i < 2; ++i) {
        rules[i].data = {.category_mask = 1, .priority = int32_t(i) + 1, .userdata = i + 1};
        rules[i].field[0].value.u32 = 0x0a000000;
        rules[i].field[0].mask_range.u32 = 8 + 8 * i;
    }
    EXPECT_GT(failures_before_success([&] {
                  return tpk_acl_add_rules(ctx, reinterpret_cast<tpk_acl_rule*>(rules), 2);
              }),
              0);
    const tpk_acl_config config = one_address();
    EXPECT_GT(failures_before_success([&] { return tpk_acl_build(ctx, &config); }), 0);
    return ctx;
}

TEST(acl_c_layer, classifies_and_finds_without_memory) {
    tpk_acl_ctx* ctx = made_the_hard_way();
    ASSERT_NE(ctx, nullptr);
    const uint8_t header[4] = {10, 0, 0, 1};
    const uint8_t* data[] = {header};
    unsigned ran = 0;
    for (const auto alg : algorithms) {
        uint32_t with = 0, without = 0;
        const int expected = tpk_acl_classify_alg(ctx, data, &with, 1, 1, alg);
        EXPECT_EQ(with_allocations(
                      0, [&] { return tpk_acl_classify_alg(ctx, data, &without, 1, 1, alg); }),
                  expected)
            << alg;
        EXPECT_EQ(with_allocations(0, [&] { return tpk_acl_set_ctx_classify(ctx, alg); }), expected)
            << alg;
        EXPECT_EQ(without, expected == 0 ? 2u : 0u) << alg;
        EXPECT_EQ(with, without) << alg;
        ran += expected == 0;
    }
    EXPECT_GE(ran, 2u);
    EXPECT_EQ(with_allocations(0, [] { return tpk_acl_find_existing(cut_name); }), ctx);
    EXPECT_EQ(with_allocations(0, [] { return tpk_acl_find_existing(another_name); }), nullptr);
    tpk_acl_free(ctx);
}

/// As rte_acl: EINVAL, and the previous build stays.
TEST(acl_c_layer, builds_nothing_from_no_rules) {
    tpk_acl_ctx* ctx = made_the_hard_way();
    ASSERT_NE(ctx, nullptr);
    const uint8_t header[4] = {10, 0, 0, 1};
    const uint8_t* data[] = {header};
    const tpk_acl_config config = one_address();
    tpk_acl_reset_rules(ctx);
    EXPECT_EQ(tpk_acl_build(ctx, &config), -EINVAL);
    one_field rule{};
    rule.data = {.category_mask = 2, .priority = 1, .userdata = 7};
    ASSERT_EQ(tpk_acl_add_rules(ctx, reinterpret_cast<const tpk_acl_rule*>(&rule), 1), 0);
    EXPECT_EQ(tpk_acl_build(ctx, &config), -EINVAL) << "of another category";
    uint32_t found = 0;
    EXPECT_EQ(tpk_acl_classify(ctx, data, &found, 1, 1), 0);
    EXPECT_EQ(found, 2u);
    tpk_acl_free(ctx);
}

TPK_ACL_RULE_DEF(five_fields, 5);

/// Four ranges of two bytes, of which the last two need one: the others hold prefixes, and fit elsewhere.
TEST(acl_c_layer, ranges_that_need_one_come_first) {
    tpk_acl_config config{};
    config.num_categories = 1;
    config.num_fields = 5;
    config.defs[0] = {.type = TPK_ACL_FIELD_TYPE_MASK,
                      .size = 4,
                      .field_index = 0,
                      .input_index = 0,
                      .offset = 0};
    for (uint8_t i = 1; i < 5; ++i)
        config.defs[i] = {.type = TPK_ACL_FIELD_TYPE_RANGE,
                          .size = 2,
                          .field_index = i,
                          .input_index = static_cast<uint8_t>((i + 1) / 2),
                          .offset = 2U + 2U * i};
    const tpk_acl_param four{
        .name = "ranges", .socket_id = -1, .rule_size = TPK_ACL_RULE_SZ(5), .max_rule_num = 1};
    tpk_acl_ctx* const ctx = tpk_acl_create(&four);
    ASSERT_NE(ctx, nullptr);
    five_fields rule{};
    rule.data = {.category_mask = 1, .priority = 1, .userdata = 7};
    const uint16_t first[] = {0, 0x1200, 1, 1}, last[] = {65535, 0x12ff, 65534, 65534};
    for (unsigned i = 0; i < 4; ++i) {
        rule.field[i + 1].value.u16 = first[i];
        rule.field[i + 1].mask_range.u16 = last[i];
    }
    ASSERT_EQ(tpk_acl_add_rules(ctx, reinterpret_cast<tpk_acl_rule*>(&rule), 1), 0);
    ASSERT_EQ(tpk_acl_build(ctx, &config), 0);
    const auto result_of = [&](std::array<uint8_t, 12> key) {
        const uint8_t* keys[] = {key.data()};
        uint32_t result = 0;
        EXPECT_EQ(tpk_acl_classify(ctx, keys, &result, 1, 1), 0);
        return result;
    };
    EXPECT_EQ(result_of({10, 0, 0, 1, 0, 0, 0x12, 0x34, 0, 1, 0xff, 0xfe}), 7U);
    EXPECT_EQ(result_of({10, 0, 0, 1, 0, 0, 0x13, 0x34, 0, 1, 0xff, 0xfe}), 0U);
    EXPECT_EQ(result_of({10, 0, 0, 1, 0, 0, 0x12, 0x34, 0, 0, 0xff, 0xfe}), 0U);
    EXPECT_EQ(result_of({10, 0, 0, 1, 0, 0, 0x12, 0x34, 0, 1, 0xff, 0xff}), 0U);
    tpk_acl_free(ctx);
}

/// Two fields of the input have the same field of a rule: both match it.
TEST(acl_c_layer, two_fields_of_one_field_index) {
    tpk_acl_config config = one_address();
    config.num_fields = 2;
    config.defs[1] = config.defs[0];
    config.defs[1].offset = 4;
    tpk_acl_ctx* const ctx = tpk_acl_create(&param);
    ASSERT_NE(ctx, nullptr);
    one_field rule{};
    rule.data = {.category_mask = 1, .priority = 1, .userdata = 7};
    rule.field[0].value.u32 = 0x0a000000;
    rule.field[0].mask_range.u32 = 8;
    ASSERT_EQ(tpk_acl_add_rules(ctx, reinterpret_cast<tpk_acl_rule*>(&rule), 1), 0);
    ASSERT_EQ(tpk_acl_build(ctx, &config), 0);
    const uint8_t both[] = {10, 0, 0, 1, 10, 0, 0, 2}, one[] = {10, 0, 0, 1, 11, 0, 0, 2};
    const uint8_t* keys[] = {both, one};
    uint32_t results[2] = {};
    EXPECT_EQ(tpk_acl_classify(ctx, keys, results, 2, 1), 0);
    EXPECT_EQ(results[0], 7U);
    EXPECT_EQ(results[1], 0U);
    tpk_acl_free(ctx);
}

/// The largest layouts: 38 bytes, 20 fields, offset 65,527.
TEST(acl_c_layer, the_largest_layouts) {
    tpk_acl_ctx* const ctx = tpk_acl_create(&param);
    ASSERT_NE(ctx, nullptr);
    one_field rule{};
    rule.data = {.category_mask = 1, .priority = 1, .userdata = 7};
    ASSERT_EQ(tpk_acl_add_rules(ctx, reinterpret_cast<tpk_acl_rule*>(&rule), 1), 0);
    const auto build = [&](const std::vector<uint8_t>& sizes, uint32_t offset = 0) {
        tpk_acl_config config = one_address();
        config.num_fields = static_cast<uint32_t>(sizes.size());
        for (size_t i = 0; i < sizes.size(); ++i) {
            config.defs[i] = config.defs[0];
            config.defs[i].size = sizes[i];
            config.defs[i].offset = offset;
        }
        return tpk_acl_build(ctx, &config);
    };
    EXPECT_EQ(build({1, 8, 8, 8, 4, 8, 1}), 0);
    EXPECT_EQ(build({1, 8, 8, 8, 4, 8, 2}), -ENOTSUP) << "39 bytes";
    EXPECT_EQ(build({8, 8, 8, 8, 8}), -ENOTSUP) << "40 bytes";
    EXPECT_EQ(build(std::vector<uint8_t>(20, 1)), 0);
    EXPECT_EQ(build(std::vector<uint8_t>(21, 1)), -ENOTSUP);
    std::vector<uint8_t> with_long(19, 1);
    with_long[0] = 8;
    EXPECT_EQ(build(with_long), 0);
    with_long.push_back(1);
    EXPECT_EQ(build(with_long), -ENOTSUP);
    EXPECT_EQ(build({8}, 65'527), 0);
    EXPECT_EQ(build({8}, 65'528), -ENOTSUP);
    tpk_acl_free(ctx);
}

TEST(acl_c_layer, a_size_of_0_is_no_limit) {
    EXPECT_EQ(eal_config("any", -1, 0).max_bytes, UINT64_MAX);
    EXPECT_EQ(eal_config("any", -1, 4096).max_bytes, 4096u);
}

}  // namespace
}  // namespace turnpike::acl::test
