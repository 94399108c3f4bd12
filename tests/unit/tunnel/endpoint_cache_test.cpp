// SPDX-License-Identifier: BSD-3-Clause
// The cache of the last endpoints, with every kernel: against a map, under any traffic; its
// contents, when it is bypassed, and when it is cleared.
#include "tunnel/endpoint_cache.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "lib/guarded_memory.hpp"
#include "lib/isa_param.hpp"
#include "lib/sanitized.hpp"

namespace turnpike::tunnel::test {
namespace {

using turnpike::test::guarded_memory;

/// Endpoint number n. Neighbours differ in little: in the VNI, in the source, in our own address.
template <class Key>
Key numbered(uint32_t n);
template <>
endpoint4 numbered<endpoint4>(uint32_t n) {
    return {0x0a00'0000 + n / 6, 100 + n % 3, static_cast<uint8_t>(n / 3 % 2)};
}
template <>
endpoint6 numbered<endpoint6>(uint32_t n) {
    uint8_t from[16] = {0x20, 1, 0xd, 0xb8}, to[16] = {0x20, 1, 0xd, 0xb8};
    from[14] = static_cast<uint8_t>(n / 6 >> 8);
    from[15] = static_cast<uint8_t>(n / 6);
    to[0] = static_cast<uint8_t>(n / 3 % 2);
    return {from, to, 100 + n % 3};
}

template <class Key>
std::unique_ptr<endpoint_table<Key>> table_of(uint32_t endpoints, const std::string& kernel) {
    auto made = endpoint_table<Key>::create({.max_entries = 4096, .kernel = kernel});
    EXPECT_TRUE(made) << made.error().message();
    for (uint32_t n = 0; n < endpoints; ++n) EXPECT_TRUE((*made)->put(numbered<Key>(n), n + 1));
    return std::move(*made);
}

/// A burst of endpoints by their numbers; the cache's results must match the numbers.
template <class Key>
void expect_right(endpoint_cache<Key>& cache, const endpoint_table<Key>& table,
                  const std::vector<uint32_t>& numbers, uint32_t known) {
    const auto n = static_cast<uint32_t>(numbers.size());
    std::array<Key, burst_endpoints> key;
    std::array<uint64_t, burst_endpoints> value;
    key.fill(numbered<Key>(0));  // keys behind the last one have no result
    for (uint32_t i = 0; i < n; ++i) key[i] = numbered<Key>(numbers[i]);
    const uint32_t found = cache.lookup(table, key.data(), value.data(), n);
    uint32_t expected = 0;
    for (uint32_t i = 0; i < n; ++i) {
        const uint64_t its = numbers[i] < known ? numbers[i] + 1 : 0;
        ASSERT_EQ(value[i], its) << "packet " << i << " of " << n << ", endpoint " << numbers[i];
        expected |= uint32_t{its != 0} << i;
    }
    ASSERT_EQ(found, expected);
}

class endpoint_caches : public ::testing::TestWithParam<std::string> {};

/// Traffic of all kinds: few endpoints and many, by turns and in rows, known and unknown; endpoints come and go.
template <class Key>
void against_a_map(const std::string& kernel) {
    std::mt19937 engine(5);
    const auto random = [&engine] { return static_cast<uint32_t>(engine()); };
    endpoint_cache<Key> cache(*choose_find(isa::any_simd_bitwidth, kernel));
    bool was_full = false, was_passed_over = false, came_back = false;
    const uint32_t rounds = turnpike::test::slow ? 60 : 300;
    for (uint32_t round = 0; round < rounds; ++round) {
        const uint32_t known = 1 + random() % (round % 3 == 0 ? 4 : round % 3 == 1 ? 12 : 600);
        const auto table = table_of<Key>(known, kernel);
        cache.forget();
        for (uint32_t bursts = random() % 100; bursts != 0; --bursts) {
            std::vector<uint32_t> numbers;
            const uint32_t n = 1 + random() % burst_endpoints, row = 1 + random() % 8;
            for (uint32_t i = 0; i < n; ++i)
                numbers.push_back(i % row != 0 ? numbers.back() : random() % (known + 2));
            ASSERT_NO_FATAL_FAILURE(expect_right(cache, *table, numbers, known));
            was_full |= cache.used() == cached_endpoints;
            came_back |= was_passed_over && !cache.passed_over();
            was_passed_over |= cache.passed_over();
        }
    }
    EXPECT_TRUE(was_full && was_passed_over && came_back);
}

TEST_P(endpoint_caches, say_what_a_map_says) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, find_kernels());
    against_a_map<endpoint4>(GetParam());
    against_a_map<endpoint6>(GetParam());
}

/// A cached endpoint is not looked up in the table: its removal from the table has no effect until
/// forget().
template <class Key>
void answers_from_the_cache(const std::string& kernel) {
    endpoint_cache<Key> cache(*choose_find(isa::any_simd_bitwidth, kernel));
    const auto all = table_of<Key>(cached_endpoints, kernel), none = table_of<Key>(0, kernel);
    const std::vector<uint32_t> eight{0, 1, 2, 3, 4, 5, 6, 7};
    expect_right(cache, *all, eight, cached_endpoints);
    ASSERT_EQ(cache.used(), cached_endpoints);
    expect_right(cache, *none, eight, cached_endpoints);
    expect_right(cache, *none, {7, 7, 3}, cached_endpoints);
    cache.forget();
    expect_right(cache, *none, eight, 0);
}

/// The ninth takes the place of the first that came.
template <class Key>
void forgets_the_oldest(const std::string& kernel) {
    endpoint_cache<Key> cache(*choose_find(isa::any_simd_bitwidth, kernel));
    const auto all = table_of<Key>(20, kernel), none = table_of<Key>(0, kernel);
    expect_right(cache, *all, {0, 1, 2, 3, 4, 5, 6, 7}, 20);
    expect_right(cache, *all, {8, 2, 3}, 20);
    ASSERT_EQ(cache.used(), cached_endpoints);
    expect_right(cache, *none, {8, 1, 2, 3, 4, 5, 6, 7}, 20);
    std::array<Key, burst_endpoints> key;
    key.fill(numbered<Key>(0));
    std::array<uint64_t, burst_endpoints> value;
    EXPECT_EQ(cache.lookup(*none, key.data(), value.data(), 1), 0U);
}

/// More endpoints than entries, by turns: the cache is bypassed, and used again when there are few.
template <class Key>
void stands_aside(const std::string& kernel) {
    endpoint_cache<Key> cache(*choose_find(isa::any_simd_bitwidth, kernel));
    const auto all = table_of<Key>(64, kernel);
    std::vector<uint32_t> many(burst_endpoints);
    for (uint32_t i = 0; i < many.size(); ++i) many[i] = i * 2;
    constexpr uint32_t before = endpoint_cache<Key>::bad_bursts_most;
    for (uint32_t i = 0; i < before; ++i) {
        EXPECT_FALSE(cache.passed_over());
        expect_right(cache, *all, many, 64);
    }
    EXPECT_TRUE(cache.passed_over());
    const std::vector<uint32_t> few{1, 1, 1, 2};
    for (uint32_t i = 0; i < endpoint_cache<Key>::bursts_passed_over; ++i)
        expect_right(cache, *all, few, 64);
    EXPECT_FALSE(cache.passed_over());
    expect_right(cache, *all, few, 64);  // the one that decides misses them
    expect_right(cache, *all, many, 64);
    EXPECT_TRUE(cache.passed_over());
    for (uint32_t i = 0; i < endpoint_cache<Key>::bursts_passed_over + 2; ++i)
        expect_right(cache, *all, few, 64);
    EXPECT_FALSE(cache.passed_over());
}

TEST_P(endpoint_caches, keep_the_last_ones) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, find_kernels());
    answers_from_the_cache<endpoint4>(GetParam());
    answers_from_the_cache<endpoint6>(GetParam());
    forgets_the_oldest<endpoint4>(GetParam());
    forgets_the_oldest<endpoint6>(GetParam());
    stands_aside<endpoint4>(GetParam());
    stands_aside<endpoint6>(GetParam());
}

/// Two IPv6 endpoints with one mark: neither is taken for the other.
TEST_P(endpoint_caches, tell_endpoints_of_one_mark) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, find_kernels());
    endpoint6 one = numbered<endpoint6>(1), other = one;
    other.from[0] = one.from[0] ^ 0xff00;
    other.from[1] = one.from[1] ^ std::rotr(uint64_t{0xff00}, 23);
    ASSERT_EQ(mark_of(one), mark_of(other));
    auto table = table_of<endpoint6>(0, GetParam());
    ASSERT_TRUE(table->put(one, 1) && table->put(other, 2));
    endpoint_cache<endpoint6> cache(*choose_find(isa::any_simd_bitwidth, GetParam()));
    std::array<endpoint6, burst_endpoints> key;
    std::array<uint64_t, burst_endpoints> value;
    for (uint32_t i = 0; i < burst_endpoints; ++i) key[i] = i % 2 == 0 ? one : other;
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(cache.lookup(*table, key.data(), value.data(), burst_endpoints), 0xffff'ffffU);
        for (uint32_t i = 0; i < burst_endpoints; ++i) ASSERT_EQ(value[i], i % 2 + 1);
    }
}

/// Kernels read and write no more than whole blocks, for any bytes behind them.
TEST_P(endpoint_caches, kernels_stay_within_their_arrays) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, find_kernels());
    last_endpoints last;
    for (uint32_t e = 0; e < cached_endpoints; ++e) last.mark[e] = e, last.value[e] = e + 10;
    for (last.used = 0; last.used <= cached_endpoints; ++last.used)
        for (uint32_t n = 1; n <= burst_endpoints; ++n) {
            guarded_memory pages;
            const uint32_t room = (n + endpoint_lanes - 1) / endpoint_lanes * endpoint_lanes;
            auto* mark = static_cast<uint64_t*>(pages.allocate(room * sizeof(uint64_t), 8));
            auto* value = static_cast<uint64_t*>(pages.allocate(room * sizeof(uint64_t), 8));
            uint32_t expected = 0;
            for (uint32_t i = 0; i < room; ++i) mark[i] = i % 11;
            for (uint32_t i = 0; i < n; ++i) expected |= uint32_t{mark[i] < last.used} << i;
            ASSERT_EQ(kernel->function->find(last, mark, value, n), expected);
            for (uint32_t i = 0; i < n; ++i)
                ASSERT_EQ(value[i], mark[i] < last.used ? mark[i] + 10 : 0);
        }
}

/// Each bit of each key counts, and nothing behind the last one is read.
TEST_P(endpoint_caches, kernels_tell_whether_keys_are_the_same) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, find_kernels());
    const auto& same = *kernel->function->same;
    for (uint32_t n = 1; n <= burst_endpoints; ++n) {
        guarded_memory pages;
        const uint32_t words = n * long_key_words;
        auto* key = static_cast<uint64_t*>(pages.allocate(words * sizeof(uint64_t), 8));
        for (uint32_t w = 0; w < words; ++w) key[w] = 0x1234'5678'9abc'def0 + w % long_key_words;
        ASSERT_TRUE(same(key, n));
        for (uint32_t w = 0; w < words; ++w) {
            const uint64_t bit = uint64_t{1} << w * 7 % 64;
            key[w] ^= bit;
            ASSERT_EQ(same(key, n), n == 1) << w;
            key[w] ^= bit;
        }
    }
}

TEST(endpoint_cache, kernels_by_name) {
    EXPECT_FALSE(choose_find(isa::any_simd_bitwidth, "mmx"));
    const auto scalar = choose_find(64);
    ASSERT_TRUE(scalar);
    EXPECT_EQ(*scalar, find_kernels().back().function);
}

INSTANTIATE_TEST_SUITE_P(isa, endpoint_caches,
                         ::testing::ValuesIn(turnpike::test::kernel_names(find_kernels())),
                         turnpike::test::isa_name);

}  // namespace
}  // namespace turnpike::tunnel::test
