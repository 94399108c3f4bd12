// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "isa/isa.hpp"

namespace turnpike::isa {
namespace {

using function = int() noexcept;
int two_scalar() noexcept { return 0; }
int two_sse() noexcept { return 1; }
int two_avx2() noexcept { return 2; }
int two_avx512() noexcept { return 3; }

constexpr kernel<function> table_rows[] = {
    {"avx512", feature_avx512, 512, two_avx512},
    {"avx2", feature_avx2, 256, two_avx2},
    {"sse42", feature_sse42, 128, two_sse},
    {"scalar", feature_none, 64, two_scalar},
};
constexpr std::span<const kernel<function>> table = table_rows;
constexpr features everything = feature_sse42 | feature_avx2 | feature_avx512;

std::string chosen(uint16_t width, features have, std::string_view forced = {}) {
    const auto row = choose(table, "object", width, forced, have);
    return row ? std::string((*row)->name) : row.error().message();
}

TEST(choose, widest_that_cpu_and_width_permit) {
    EXPECT_EQ(chosen(512, everything), "avx512");
    EXPECT_EQ(chosen(256, everything), "avx2");
    EXPECT_EQ(chosen(128, everything), "sse42");
    EXPECT_EQ(chosen(64, everything), "scalar");
    EXPECT_EQ(chosen(512, feature_sse42), "sse42");
    EXPECT_EQ(chosen(512, feature_none), "scalar");
    EXPECT_EQ(chosen(512, everything, "auto"), "avx512");
}

TEST(choose, forced_by_name) {
    EXPECT_EQ(chosen(512, everything, "scalar"), "scalar");
    EXPECT_EQ(chosen(256, everything, "sse42"), "sse42");
}

TEST(choose, forced_beyond_the_width_is_enotsup) {
    const auto row = choose(table, "fib4", 256, "avx512", everything);
    ASSERT_FALSE(row);
    EXPECT_EQ(row.error().code, ENOTSUP);
    EXPECT_NE(row.error().message().find("--force-max-simd-bitwidth"), std::string::npos);
}

TEST(choose, forced_beyond_the_cpu_is_enotsup) {
    const auto row = choose(table, "fib4", 512, "avx512", feature_sse42 | feature_avx2);
    ASSERT_FALSE(row);
    EXPECT_EQ(row.error().code, ENOTSUP);
    EXPECT_NE(row.error().message().find("CPU"), std::string::npos);
}

TEST(choose, unknown_name_lists_what_there_is) {
    const auto row = choose(table, "fib4", 512, "neon", everything);
    ASSERT_FALSE(row);
    EXPECT_EQ(row.error().code, EINVAL);
    EXPECT_NE(row.error().message().find("avx512, avx2, sse42, scalar"), std::string::npos);
}

TEST(detect, tokens_agree_with_features) {
    EXPECT_EQ(tokens(feature_none).size(), 1U);
    EXPECT_EQ(tokens(everything).back(), "avx512");
    EXPECT_EQ(tokens(detect()).front(), "scalar");
}

// The kernel's own list of what programs may use; devtools/avx512 goes by the same five flags.
TEST(detect, avx512_as_the_kernel_says) {
    std::ifstream cpuinfo("/proc/cpuinfo");
    std::string line;
    while (std::getline(cpuinfo, line) && !line.starts_with("flags")) continue;
    std::istringstream words(line);
    const std::set<std::string> flags{std::istream_iterator<std::string>(words), {}};
    const auto needed = {"avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl"};
    EXPECT_EQ((detect() & feature_avx512) != 0,
              std::ranges::all_of(needed, [&](const char* flag) { return flags.contains(flag); }));
}

}  // namespace
}  // namespace turnpike::isa
