// SPDX-License-Identifier: BSD-3-Clause
// The hash: keys that differ little spread as random ones would, and what meets under one secret does
// not under another.
#include <cmath>

#include "family.hpp"
#include "hash/hash.hpp"

namespace turnpike::hash::test {
namespace {

constexpr unsigned cells = 1024;

/// Pearson's statistic of `count` balls in the cells; of random ones it is about cells - 1 (standard
/// deviation: its root of two), and less where they lie more evenly.
double chi_square(const std::vector<unsigned>& in, double count) {
    double sum = 0;
    const double mean = count / cells;
    for (const unsigned n : in) sum += (n - mean) * (n - mean) / mean;
    return sum;
}

/// The worst of first and second, their high bits and their low ones, over some secrets.
template <class Key, class Keys>
double worst_spread(uint32_t count, const Keys& of) {
    double worst = 0;
    for (uint64_t seed = 0; seed < 8; ++seed) {
        const secret s = secret::of(seed);
        std::vector<unsigned> in[4];
        for (auto& v : in) v.resize(cells);
        for (uint32_t i = 0; i < count; ++i) {
            const Key k = of(i);
            const hashed h = hash<sizeof(Key) / 8>(s, &k);
            ++in[0][h.first >> 22], ++in[1][h.first % cells];
            ++in[2][h.second >> 22], ++in[3][h.second % cells];
        }
        for (const auto& v : in) worst = std::max(worst, chi_square(v, count));
    }
    return worst;
}

// Six standard deviations: one in a billion of random ones is beyond.
const double most = cells - 1 + 6 * std::sqrt(2.0 * (cells - 1));

template <class Key>
void spreads() {
    EXPECT_LT(worst_spread<Key>(100'000, [](uint32_t i) { return numbered<Key>(i); }), most);
    for (unsigned word = 0; word < sizeof(Key) / 8; ++word)
        for (const unsigned shift : {0U, 8U, 16U, 24U, 32U, 40U}) {
            // Consecutive MAC addresses of one vendor, with the changing bytes at any offset.
            const auto in_a_row = [&](uint32_t i) {
                Key k{};
                for (auto& w : k.words) w = 0x0002'0000'5e00'0000;
                k.words[word] += uint64_t{i} << shift;
                return k;
            };
            EXPECT_LT(worst_spread<Key>(20'000, in_a_row), most) << word << ' ' << shift;
        }
}
TEST(exact_hash, keys_in_a_row_spread) {
    spreads<key8>();
    spreads<key16>();
    spreads<key40>();
}

// Random keys against the same keys with one bit changed: each bit of the result changes in half of
// the cases.
template <class Key>
void one_bit_changes_half() {
    std::mt19937_64 random(5);
    constexpr unsigned tries = 200;
    for (unsigned bit = 0; bit < 8 * sizeof(Key); ++bit) {
        double changed = 0;
        for (unsigned n = 0; n < tries; ++n) {
            const secret s = secret::of(random());
            Key k;
            for (auto& w : k.words) w = random();
            const hashed a = hash<sizeof(Key) / 8>(s, &k);
            k.words[bit / 64] ^= uint64_t{1} << bit % 64;
            const hashed b = hash<sizeof(Key) / 8>(s, &k);
            changed += std::popcount(a.first ^ b.first) + std::popcount(a.second ^ b.second);
        }
        EXPECT_NEAR(changed / tries, 32, 6) << bit;
    }
}
TEST(exact_hash, one_bit_changes_half_of_the_result) {
    one_bit_changes_half<key8>();
    one_bit_changes_half<key16>();
    one_bit_changes_half<key40>();
}

TEST(exact_hash, what_meets_under_one_secret_parts_under_another) {
    const secret mine = secret::of(1), theirs = secret::of(2);
    const auto place = [](const secret& s, uint64_t key) {
        return hash<1>(s, &key).second % cells;
    };
    std::vector<uint64_t> meet;  // all in one bucket of `theirs`
    for (uint64_t k = 0; meet.size() < 2000; ++k)
        if (place(theirs, k) == 5) meet.push_back(k);
    std::vector<unsigned> in(cells);
    for (const uint64_t k : meet) ++in[place(mine, k)];
    EXPECT_LT(chi_square(in, static_cast<double>(meet.size())), most);
}

// A word that makes a factor of the sum zero must not make the other half of the key meaningless.
TEST(exact_hash, a_zero_factor_hides_nothing) {
    const secret s = secret::of(3);
    std::vector<unsigned> in(cells);
    for (uint64_t i = 0; i < 20'000; ++i) {
        const uint64_t key = i << 32 | static_cast<uint32_t>(-s.add[0]);
        ++in[hash<1>(s, &key).second % cells];
    }
    EXPECT_LT(chi_square(in, 20'000), most);
}

TEST(exact_hash, secrets_are_drawn_anew) {
    secret a, b;
    ASSERT_TRUE(secret::draw(a) && secret::draw(b));
    EXPECT_NE(std::memcmp(&a, &b, sizeof a), 0);
    // A table without a given secret draws one: two tables of the same keys have different layouts.
    auto first = *table<key8, uint32_t>::create({});
    auto second = *table<key8, uint32_t>::create({});
    EXPECT_NE(std::memcmp(&first->readers_view()->keys, &second->readers_view()->keys, sizeof a),
              0);
}

}  // namespace
}  // namespace turnpike::hash::test
