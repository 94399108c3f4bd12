// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "isa/fastest.hpp"
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

/// EAL's width before rte_eal_init.
TEST(choose, without_a_width_eal_is_not_started) {
    for (const std::string_view forced : {"", "scalar"}) {
        const auto row = choose(table, "fib4", 0, forced, everything);
        ASSERT_FALSE(row);
        EXPECT_EQ(row.error().code, EINVAL);
        EXPECT_NE(row.error().message().find("EAL is not started"), std::string::npos);
    }
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
    EXPECT_EQ(tokens(feature_neon).back(), "neon");
    EXPECT_EQ(tokens(detect()).front(), "scalar");
}

std::set<std::string> words_of(const std::string& text) {
    std::istringstream words(text);
    return {std::istream_iterator<std::string>(words), {}};
}

std::set<std::string> asked_for(feature of) {
    const auto flags = cpu_flags(of);
    return {flags.begin(), flags.end()};
}

// A row asks for all that its objects are compiled with: root meson.build, isa_flags.
TEST(detect, asks_for_what_rows_are_compiled_with) {
#if defined(__x86_64__)
    EXPECT_EQ(asked_for(feature_sse42), words_of(TURNPIKE_FLAGS_SSE42));
    EXPECT_EQ(asked_for(feature_avx2), words_of(TURNPIKE_FLAGS_AVX2));
    EXPECT_EQ(asked_for(feature_avx512), words_of(TURNPIKE_FLAGS_AVX512));
#else
    EXPECT_EQ(asked_for(feature_neon), words_of(TURNPIKE_FLAGS_NEON));
#endif
}

// Virtual machines mask what they like: one flag less, and no row that needs it.
TEST(detect, a_masked_flag_takes_its_rows_away) {
    const auto all = cpu_flags(feature_avx512);
    for (const std::string_view masked : all) {
        std::vector<std::string_view> cpu{"sse4.2"};
        std::ranges::copy_if(all, std::back_inserter(cpu),
                             [&](std::string_view flag) { return flag != masked; });
        const features have = features_of(cpu);
        for (const feature f : {feature_sse42, feature_avx2, feature_avx512})
            EXPECT_EQ((have & f) != 0, !asked_for(f).contains(std::string(masked)))
                << masked << " and feature " << f;
    }
}

// The instruction sets that the kernel lists as usable; devtools/avx512 goes by the same flags.
TEST(detect, the_instruction_sets_that_the_kernel_lists) {
    std::ifstream cpuinfo("/proc/cpuinfo");
    std::string line;
    while (std::getline(cpuinfo, line) && !line.starts_with("flags") &&
           !line.starts_with("Features"))
        continue;
    const auto flags = words_of(line);
#if defined(__aarch64__)
    if (!line.starts_with("Features"))
        GTEST_SKIP() << "/proc/cpuinfo is not of this architecture: a user-mode emulator's host";
#endif
    const auto kernels_name = [](std::string_view flag) {
        return std::string(flag == "sse4.2" ? "sse4_2"
                           : flag == "bmi"  ? "bmi1"
                           : flag == "simd" ? "asimd"
                                            : flag);
    };
    for (const feature f : {feature_sse42, feature_avx2, feature_avx512, feature_neon})
        EXPECT_EQ((detect() & f) != 0,
                  std::ranges::all_of(
                      cpu_flags(f),
                      [&](std::string_view flag) { return flags.contains(kernels_name(flag)); }))
            << "feature " << f;
}

/// The name of the fastest kernel, by their times; counts the measured rounds of each.
std::string measured(uint16_t width, features have, const std::map<std::string_view, double>& times,
                     std::map<std::string_view, unsigned>* rounds = nullptr) {
    const auto& row = fastest(
        table, width,
        [&](const kernel<function>& r) {
            if (rounds != nullptr) ++(*rounds)[r.name];
            return times.at(r.name);
        },
        have);
    return std::string(row.name);
}

TEST(fastest, is_the_one_of_the_shortest_time) {
    EXPECT_EQ(measured(512, everything, {{"avx512", 100}, {"avx2", 90}}), "avx2");
    EXPECT_EQ(measured(512, everything, {{"avx512", 90}, {"avx2", 100}}), "avx512");
    EXPECT_EQ(measured(512, everything, {{"avx512", 100}, {"avx2", 98}}), "avx512")
        << "hardly faster: the first one stays";
}

TEST(fastest, the_shortest_round_of_each_counts) {
    unsigned round = 0;
    const auto& row = fastest(
        table, 512,
        [&](const kernel<function>& r) {
            // Interruptions in every round of AVX2 but one.
            return r.name == "avx2" ? (++round == 4 ? 50.0 : 1000.0) : 100.0;
        },
        everything);
    EXPECT_EQ(row.name, "avx2");
}

TEST(fastest, narrow_kernels_and_single_ones_are_not_measured) {
    std::map<std::string_view, unsigned> rounds;
    EXPECT_EQ(measured(512, everything, {{"avx512", 2}, {"avx2", 1}}, &rounds), "avx2");
    EXPECT_EQ(rounds.size(), 2U);
    EXPECT_EQ(rounds["avx512"], rounds["avx2"]) << "by turns";
    rounds.clear();
    EXPECT_EQ(measured(256, everything, {}, &rounds), "avx2");
    EXPECT_EQ(measured(512, feature_sse42, {}, &rounds), "sse42");
    EXPECT_EQ(measured(512, feature_none, {}, &rounds), "scalar");
    EXPECT_TRUE(rounds.empty());
    EXPECT_TRUE(has_choice(table, 512, everything));
    EXPECT_FALSE(has_choice(table, 256, everything));
    EXPECT_FALSE(has_choice(table, 512, feature_avx2 | feature_sse42));
}

}  // namespace
}  // namespace turnpike::isa
