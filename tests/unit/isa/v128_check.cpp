// SPDX-License-Identifier: BSD-3-Clause
// The operations of isa/simd/v128.hpp and isa/crc32c.hpp against loops in plain C++, on random values. Without
// GoogleTest: cli-v128 also compiles it for AArch64 and runs it under emulation.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "isa/crc32c.hpp"
#include "isa/simd/v128.hpp"

namespace {

struct words {
    alignas(16) uint32_t at[4];
    bool operator==(const words&) const = default;
};

std::mt19937 random_words(7);

/// Random lanes; often small, equal, or at the limits of signed numbers.
words draw() {
    static constexpr uint32_t special[] = {0,          1,          0xffff, 0x10000,
                                           0x7fffffff, 0x80000000, ~0U,    0xff};
    words w;
    for (uint32_t& x : w.at)
        x = random_words() % 3 == 0 ? special[random_words() % 8]
                                    : static_cast<uint32_t>(random_words());
    return w;
}

words of(v128 a) {
    words w;
    v128::store(w.at, a);
    return w;
}

template <class F>
words each(const F& f) {
    words w;
    for (unsigned i = 0; i < 4; ++i) w.at[i] = f(i);
    return w;
}

template <class T>
words equal_parts(const words& a, const words& b) {
    words w;
    for (size_t i = 0; i < sizeof w / sizeof(T); ++i) {
        T x, y;
        std::memcpy(&x, reinterpret_cast<const char*>(a.at) + i * sizeof(T), sizeof x);
        std::memcpy(&y, reinterpret_cast<const char*>(b.at) + i * sizeof(T), sizeof y);
        const T z = x == y ? static_cast<T>(~T{0}) : T{0};
        std::memcpy(reinterpret_cast<char*>(w.at) + i * sizeof(T), &z, sizeof z);
    }
    return w;
}

int failures = 0;
void expect(bool good, const char* what) {
    if (good) return;
    std::printf("not ok %s\n", what);
    ++failures;
}

void check_lanes(const words& x, const words& y) {
    const v128 a = v128::load(x.at), b = v128::load(y.at);
    const auto is = [](uint32_t i) { return static_cast<int32_t>(i); };
    expect(of(a) == x && of(v128::load_any(x.at)) == x, "load");
    expect(of(v128::set1(x.at[0])) == each([&](unsigned) { return x.at[0]; }), "set1");
    expect(of(a + b) == each([&](unsigned i) { return x.at[i] + y.at[i]; }), "+");
    expect(of(a & b) == each([&](unsigned i) { return x.at[i] & y.at[i]; }), "&");
    expect(of(a | b) == each([&](unsigned i) { return x.at[i] | y.at[i]; }), "|");
    expect(of(a ^ b) == each([&](unsigned i) { return x.at[i] ^ y.at[i]; }), "^");
    expect(of(v128::and_not(a, b)) == each([&](unsigned i) { return ~x.at[i] & y.at[i]; }),
           "and_not");
    expect(of(v128::greater(a, b)) ==
               each([&](unsigned i) { return is(x.at[i]) > is(y.at[i]) ? ~0U : 0U; }),
           "greater");
    expect(of(v128::most(a, b)) ==
               each([&](unsigned i) { return is(x.at[i]) > is(y.at[i]) ? x.at[i] : y.at[i]; }),
           "most");
    expect(of(v128::least(a, b)) ==
               each([&](unsigned i) { return is(x.at[i]) < is(y.at[i]) ? x.at[i] : y.at[i]; }),
           "least");
    v128 first, second;
    v128::split_pairs(a, b, first, second);
    const auto pair_of = [&](unsigned i) { return i < 2 ? &x.at[2 * i] : &y.at[2 * (i - 2)]; };
    expect(of(first) == each([&](unsigned i) { return pair_of(i)[0]; }) &&
               of(second) == each([&](unsigned i) { return pair_of(i)[1]; }),
           "split_pairs");
    expect(of(v128::equal<uint32_t>(a, b)) == equal_parts<uint32_t>(x, y), "equal<u32>");
    expect(of(v128::equal<uint16_t>(a, b)) == equal_parts<uint16_t>(x, y), "equal<u16>");
    expect(of(v128::equal<uint8_t>(a, b)) == equal_parts<uint8_t>(x, y), "equal<u8>");
    expect(of(v128::shift_right<16>(a)) == each([&](unsigned i) { return x.at[i] >> 16; }),
           "shift_right<16>");
    expect(of(v128::shift_right<8>(a)) == each([&](unsigned i) { return x.at[i] >> 8; }),
           "shift_right<8>");
    const uint32_t n = y.at[0] % 32;
    expect(of(v128::shift_left_by(a, n)) == each([&](unsigned i) { return x.at[i] << n; }),
           "shift_left_by");
    expect(of(v128::shift_right_by(a, n)) == each([&](unsigned i) { return x.at[i] >> n; }),
           "shift_right_by");
    expect(
        v128::any(a) == ((x.at[0] | x.at[1] | x.at[2] | x.at[3]) != 0) && !v128::any(v128::set1(0)),
        "any");
    expect(a.lane<0>() == x.at[0] && a.lane<3>() == x.at[3], "lane");
    const auto least = [&](unsigned i) {
        const uint32_t low = std::min(x.at[i] & 0xffff, y.at[i] & 0xffff);
        return std::min(x.at[i] >> 16, y.at[i] >> 16) << 16 | low;
    };
    expect(of(v128::least_halves(a, b)) == each(least), "least_halves");
    uint32_t signs = 0;
    int32_t top = is(x.at[0]), bottom = top;
    for (unsigned i = 0; i < 4; ++i) {
        signs |= (x.at[i] >> 31) << i;
        top = std::max(top, is(x.at[i]));
        bottom = std::min(bottom, is(x.at[i]));
    }
    expect(v128::sign_bits(a) == signs, "sign_bits");
    expect(a.highest() == static_cast<uint32_t>(top), "highest");
    expect(a.lowest() == static_cast<uint32_t>(bottom), "lowest");
    uint32_t pairs[8];
    v128::store_pairs(pairs, a, b);
    for (unsigned i = 0; i < 4; ++i)
        expect(pairs[2 * i] == x.at[i] && pairs[2 * i + 1] == y.at[i], "store_pairs");
}

/// Loads from four addresses, at any alignment, and their transposition.
void check_rows() {
    alignas(16) uint8_t bytes[4][64];
    const uint8_t* row[4];
    const unsigned offset = random_words() % 8;
    for (unsigned i = 0; i < 4; ++i) {
        for (uint8_t& byte : bytes[i]) byte = static_cast<uint8_t>(random_words());
        row[i] = bytes[i] + random_words() % 16;
    }
    const auto word = [&](unsigned i, unsigned k) {
        uint32_t x;
        std::memcpy(&x, row[i] + offset + 4 * k, sizeof x);
        return x;
    };
    expect(of(v128::load_u32_each(row, offset)) == each([&](unsigned i) { return word(i, 0); }),
           "load_u32_each");
    v128 column[4], big_endian[4];
    v128::columns_each(row, offset, column);
    v128::columns_be_each(row, offset, big_endian);
    for (unsigned k = 0; k < 4; ++k) {
        expect(of(column[k]) == each([&](unsigned i) { return word(i, k); }), "columns_each");
        expect(of(big_endian[k]) == each([&](unsigned i) { return __builtin_bswap32(word(i, k)); }),
               "columns_be_each");
    }
    const v128 pair = v128::load_pair(row[0], row[1]);
    uint64_t low, high;
    std::memcpy(&low, row[0], sizeof low);
    std::memcpy(&high, row[1], sizeof high);
    expect(pair.word<0>() == low && pair.word<1>() == high, "load_pair and word");
    const v128 changed = pair.with_half<3>(0xabcd).with_half<7>(0x1234);
    expect(changed.word<0>() == ((low & 0xffffffffffff) | uint64_t{0xabcd} << 48) &&
               changed.word<1>() == ((high & 0xffffffffffff) | uint64_t{0x1234} << 48),
           "with_half");
    words second;
    std::memcpy(&second, bytes[0] + 16, sizeof second);
    expect(of(v128::load_row(bytes[0], 1)) == second, "load_row");
    uint16_t half[4];
    std::memcpy(half, row[0], sizeof half);
    expect(of(v128::widen_halves(half)) == each([&](unsigned i) { return half[i]; }),
           "widen_halves");
    uint8_t copy[16];
    v128::store_any(copy, v128::load_any(row[0]));
    expect(std::memcmp(copy, row[0], sizeof copy) == 0, "store_any");
    uint64_t packed;
    std::memcpy(&packed, half, sizeof packed);
    expect(v128::narrow(v128::widen_halves(half)) == packed, "narrow");
}

/// RFC 3720 B.4: 32 bytes of zeros, and 32 bytes of ones; the RFC inverts the value before and after.
void check_crc() {
    const auto crc = [](uint64_t eight_bytes) {
        uint32_t x = ~0U;
        for (int i = 0; i < 4; ++i) x = turnpike::isa::crc32c(x, eight_bytes);
        return ~x;
    };
    expect(crc(0) == 0x8a9136aaU, "crc32c of zeros");
    expect(crc(~uint64_t{0}) == 0x62a8ab43U, "crc32c of ones");
}

}  // namespace

int main() {
    for (int round = 0; round < 20'000; ++round) {
        check_lanes(draw(), draw());
        check_rows();
    }
    check_crc();
    std::printf("%d failures\n", failures);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
