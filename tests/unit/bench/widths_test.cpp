// SPDX-License-Identifier: BSD-3-Clause
// What one run says of each SIMD width.
#include "bench/widths.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace turnpike::bench {
namespace {

side taking(const char* name, uint16_t bits, double cycles) {
    return {{name, [cycles] { return cycles; }}, bits};
}

const std::vector<side> some_peers{taking("slow", 64, 30), taking("good", 128, 20),
                                   taking("wide", 512, 10)};
const std::vector<side> some_of_ours{taking("avx512", 512, 4), taking("avx2", 256, 5),
                                     taking("scalar", 64, 9)};

TEST(bench_widths, each_has_its_kernel_and_the_best_peer_that_it_permits) {
    const std::vector<compared_width> widths{{256, "avx2"}, {512, "avx512"}};
    const auto v = compare(some_peers, some_of_ours, widths, 3);
    ASSERT_EQ(v.size(), 3U);
    EXPECT_EQ(v[0].isa, "avx512");
    EXPECT_EQ(v[0].width_bits, 512);
    EXPECT_EQ(v[0].peer, 2U);
    EXPECT_EQ(v[1].width_bits, 256);
    EXPECT_EQ(v[1].peer, 1U);
    EXPECT_EQ(v[1].cycles, 5);
    EXPECT_EQ(v[1].noise, 0.0);
    EXPECT_EQ(v[2].width_bits, std::nullopt) << "chosen at none";
    EXPECT_EQ(v[2].noise, std::nullopt);
    EXPECT_EQ(v[2].peer, 2U) << "the fastest of all";

    const auto cell = cell_of(v[1], some_peers, "none");
    EXPECT_EQ(cell["width_bits"], 256);
    EXPECT_EQ(cell["chosen"], true);
    EXPECT_EQ(cell["peer"], "good");
    EXPECT_EQ(cell["peer_cycles"], 20);
    EXPECT_EQ(cell["peers"]["wide"], 10);
    EXPECT_FALSE(cell.contains("why"));
    EXPECT_EQ(cell_of(v[2], some_peers, "none")["width_bits"], nullptr);
}

TEST(bench_widths, a_kernel_may_be_chosen_at_both) {
    const std::vector<compared_width> widths{{256, "avx2"}, {512, "avx2"}};
    const auto v = compare(some_peers, {&some_of_ours[1], 1}, widths, 1);
    ASSERT_EQ(v.size(), 2U);
    EXPECT_EQ(v[0].width_bits, 256);
    EXPECT_EQ(v[0].peer, 1U);
    EXPECT_EQ(v[1].width_bits, 512);
    EXPECT_EQ(v[1].peer, 2U);
}

TEST(bench_widths, noise_is_of_the_same_side_twice) {
    double next = 100;
    const std::vector<side> one{{{"avx2", [&] { return next += 10; }}, 256}};
    const auto v = compare({}, one, std::vector<compared_width>{{256, "avx2"}}, 1);
    ASSERT_EQ(v.size(), 1U);
    EXPECT_EQ(v[0].cycles, 110);
    EXPECT_DOUBLE_EQ(*v[0].noise, 120.0 / 110 - 1);
    EXPECT_EQ(v[0].peer, std::nullopt);
    const auto cell = cell_of(v[0], {}, "nobody can");
    EXPECT_EQ(cell["peer"], nullptr);
    EXPECT_EQ(cell["why"], "nobody can");
}

TEST(bench_widths, a_noisy_row_is_taken_again_and_marked_if_it_stays_noisy) {
    const auto row = [](std::vector<double> seen) {
        size_t at = 0;
        const std::vector<side> one{{{"avx2", [&] { return seen.at(at++); }}, 256}};
        const auto v = compare({}, one, std::vector<compared_width>{{256, "avx2"}}, 1);
        EXPECT_EQ(at, seen.size()) << "each is used";
        return v.at(0);
    };
    const verdict quiet = row({100, 109});
    EXPECT_EQ(quiet.takes, 1U);
    EXPECT_EQ(cell_of(quiet, {}, "")["noisy"], false);

    const verdict later = row({100, 150, 120, 124});
    EXPECT_EQ(later.takes, 2U);
    EXPECT_EQ(later.cycles, 120);
    EXPECT_EQ(cell_of(later, {}, "")["noisy"], false);
    EXPECT_EQ(noise_text(cell_of(later, {}, "")), "noise 0.03");

    const verdict noisy = row({100, 120, 100, 150});
    EXPECT_EQ(noisy.takes, 2U);
    EXPECT_DOUBLE_EQ(*noisy.noise, 0.2) << "the quieter of both counts";
    EXPECT_EQ(cell_of(noisy, {}, "")["noisy"], true);
    EXPECT_EQ(noise_text(cell_of(noisy, {}, "")), "noise 0.20 (noisy)");
}

}  // namespace
}  // namespace turnpike::bench
