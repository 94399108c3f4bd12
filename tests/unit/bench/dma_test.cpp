// SPDX-License-Identifier: BSD-3-Clause
// The pure parts of turnpike-bench-dma: the bytes touched, the conversion of values, the contents
// of buffers.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "bench/dma/contents.hpp"
#include "bench/dma/distribution.hpp"
#include "bench/dma/window.hpp"

namespace turnpike::bench::dma {
namespace {

/// Section 4: "Each unit is the sum of offset and transfer size, rounded up to the next cache line", so that each
/// transfer touches the same number of lines.
TEST(bench_dma_window, every_transfer_touches_as_many_lines_and_none_of_anothers) {
    for (uint32_t offset = 0; offset < host_line_bytes; ++offset)
        for (const uint32_t transfer : {1u, 8u, 63u, 64u, 65u, 128u, 1500u, 2048u}) {
            const access_window w{65536, transfer, offset};
            std::set<uint64_t> lines;
            const uint64_t each = (uint64_t{offset} + transfer - 1) / host_line_bytes + 1;
            for (uint64_t unit = 0; unit < w.units(); ++unit) {
                const uint64_t from = w.place_of(unit), to = from + transfer;
                EXPECT_EQ(from % host_line_bytes, offset);
                EXPECT_LE(to, w.bytes);
                for (uint64_t line = from / host_line_bytes; line <= (to - 1) / host_line_bytes;
                     ++line)
                    EXPECT_TRUE(lines.insert(line).second)
                        << "line " << line << " is another unit's too";
                EXPECT_EQ(lines.size(), (unit + 1) * each);
            }
            EXPECT_GT((w.units() + 1) * w.unit_bytes(), w.bytes) << "room for one more";
        }
}

TEST(bench_dma_window, what_cannot_be_is_refused) {
    EXPECT_TRUE(validate({8192, 8192, 0}));
    EXPECT_TRUE(validate({8192, 64, 63}));
    for (const auto& [window, least, word] :
         {std::tuple{access_window{8192, 8192, 0}, 2, "--window"},
          {access_window{8192, 8192, 1}, 1, "--window"},
          {access_window{8192, 0, 0}, 1, "--size"},
          {access_window{8192, 64, 64}, 1, "--offset"},
          {access_window{largest_window_bytes + 1, 64, 0}, 1, "--window"}}) {
        const auto valid = validate(window, static_cast<uint64_t>(least));
        ASSERT_FALSE(valid) << word;
        EXPECT_EQ(valid.error().object, word);
    }
}

TEST(bench_dma_window, an_order_visits_each_unit_once) {
    for (const uint64_t units : {1u, 2u, 3u, 128u, 4096u})
        for (const auto pattern : {access_pattern::sequential, access_pattern::random}) {
            auto order = visit_order(units, pattern, 1);
            EXPECT_EQ(order, visit_order(units, pattern, 1)) << "the same seed, another order";
            if (units > 100) {
                EXPECT_EQ(std::ranges::is_sorted(order), pattern == access_pattern::sequential);
            }
            std::ranges::sort(order);
            for (uint64_t u = 0; u < units; ++u) ASSERT_EQ(order[u], u);
        }
    EXPECT_NE(visit_order(4096, access_pattern::random, 1),
              visit_order(4096, access_pattern::random, 2));
}

/// Each unit is first, and last, about as often as any other.
TEST(bench_dma_window, a_random_order_favours_no_unit) {
    constexpr unsigned units = 8, seeds = 8000;
    unsigned first[units]{}, last[units]{};
    for (unsigned seed = 0; seed < seeds; ++seed) {
        const auto order = visit_order(units, access_pattern::random, seed);
        ++first[order.front()];
        ++last[order.back()];
    }
    for (unsigned u = 0; u < units; ++u) {
        EXPECT_NEAR(first[u], seeds / units, 150) << u;  // five standard deviations
        EXPECT_NEAR(last[u], seeds / units, 150) << u;
    }
}

TEST(bench_dma_window, sizes_are_read_as_they_are_said) {
    for (const auto& [text, bytes] : {std::pair{"0", 0ull},
                                      {"64", 64ull},
                                      {"8K", 8192ull},
                                      {"64M", 64ull << 20},
                                      {"1G", 1ull << 30}}) {
        const auto read = parse_bytes(text, "--window");
        ASSERT_TRUE(read) << text;
        EXPECT_EQ(*read, bytes);
        EXPECT_EQ(bytes_text(bytes), text);
    }
    EXPECT_EQ(bytes_text(1500), "1500");
    for (const char* wrong : {"", "K", "8k", "8KB", "-1", "1.5K", "x", " 8", "8 ",
                              "99999999999999999999", "99999999999999G"}) {
        const auto read = parse_bytes(wrong, "--window");
        ASSERT_FALSE(read) << wrong;
        EXPECT_EQ(read.error().object, "--window");
    }
}

/// Nearest rank by its definition: the least value that at least q of all do not exceed.
uint32_t counted_quantile(const std::vector<uint32_t>& values, unsigned per_thousand) {
    for (uint32_t candidate = 0;; ++candidate) {
        const auto below = static_cast<uint64_t>(
            std::ranges::count_if(values, [&](uint32_t v) { return v <= candidate; }));
        const bool there = std::ranges::find(values, candidate) != values.end();
        if (there && below * 1000 >= uint64_t{per_thousand} * values.size()) return candidate;
    }
}

TEST(bench_dma_distribution, quantiles_are_those_of_their_definition) {
    std::minstd_rand random(1);
    for (const unsigned n : {1u, 2u, 3u, 7u, 100u, 101u, 1000u}) {
        std::vector<uint32_t> values(n);
        for (uint32_t& v : values) v = static_cast<uint32_t>(random() % 50);
        const distribution d(values);
        for (const unsigned q : {0u, 10u, 70u, 250u, 500u, 550u, 950u, 990u, 999u, 1000u})
            EXPECT_EQ(d.quantile(q / 1000.0), counted_quantile(values, q)) << n << " values, " << q;
        EXPECT_DOUBLE_EQ(d.mean(), std::accumulate(values.begin(), values.end(), 0.0) / n);
        EXPECT_EQ(d.count(), n);
    }
}

TEST(bench_dma_distribution, the_cdf_rises_to_one_and_says_true_shares) {
    std::minstd_rand random(2);
    std::vector<uint32_t> values(5000);
    for (uint32_t& v : values)
        v = static_cast<uint32_t>(100 + random() % 40 + (random() % 100 == 0 ? 5000 : 0));
    const auto steps = distribution(values).cdf();
    ASSERT_GT(steps.size(), 30u);
    EXPECT_EQ(steps.front().value, std::ranges::min(values));
    EXPECT_EQ(steps.back().value, std::ranges::max(values));
    EXPECT_DOUBLE_EQ(steps.back().share, 1);
    for (size_t i = 0; i < steps.size(); ++i) {
        const auto not_over =
            std::ranges::count_if(values, [&](uint32_t v) { return v <= steps[i].value; });
        EXPECT_DOUBLE_EQ(steps[i].share, static_cast<double>(not_over) / 5000);
        if (i > 0) {
            EXPECT_LT(steps[i - 1].value, steps[i].value);
        }
    }
}

TEST(bench_dma_contents, a_byte_that_is_not_as_it_should_be_is_found) {
    std::vector<std::byte> at(129);
    for (size_t bytes = 1; bytes <= at.size(); ++bytes) {
        const std::span part = std::span(at).first(bytes);
        write_contents(part, 7);
        EXPECT_FALSE(first_difference(part, 7));
        for (size_t wrong = 0; wrong < bytes; ++wrong) {
            part[wrong] ^= std::byte{0x80};
            EXPECT_EQ(first_difference(part, 7), wrong);
            part[wrong] ^= std::byte{0x80};
        }
    }
}

TEST(bench_dma_contents, no_two_tags_stand_for_the_same) {
    std::set<uint64_t> words;
    for (const uint64_t space : {1u, 2u, 3u, 4u})
        for (uint64_t index = 0; index < 500; ++index)
            for (uint64_t word = 0; word < 16; ++word)
                EXPECT_TRUE(words.insert(contents_word(space << 32 | index, word)).second);
}

TEST(bench_dma_contents, a_fill_is_its_word_over_and_over) {
    std::vector<std::byte> at(21);
    const uint64_t word = 0x0807060504030201;
    for (size_t i = 0; i < at.size(); ++i) at[i] = static_cast<std::byte>(i % 8 + 1);
    EXPECT_FALSE(first_difference_from_fill(at, word));
    for (size_t wrong = 0; wrong < at.size(); ++wrong) {
        at[wrong] ^= std::byte{1};
        EXPECT_EQ(first_difference_from_fill(at, word), wrong);
        at[wrong] ^= std::byte{1};
    }
}

}  // namespace
}  // namespace turnpike::bench::dma
