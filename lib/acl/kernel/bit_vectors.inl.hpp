// SPDX-License-Identifier: BSD-3-Clause
// Search by bit vectors (bit_vectors.hpp): the vectors of a key's fields have the rules that match each of them;
// their intersection's first bit is the best rule. A few keys at a time, so that their loads overlap.

#include <type_traits>

#include "acl/layout.hpp"

namespace {

/// V: the registers. Bytes: the length of a vector.
template <class V, unsigned Bytes>
class bit_vector_search {
    using simd_word = decltype(V::set1(0));
    static constexpr uint32_t lanes = V::lanes, registers = Bytes / 4 / lanes;
    static_assert(Bytes % (4 * lanes) == 0 && Bytes / 4 <= 64);
    /// Keys at a time, in up to eight registers.
    static constexpr uint32_t together = registers <= 8 ? 8 / registers : 1;

  public:
    explicit bit_vector_search(const turnpike::acl::bit_vectors& table) noexcept : t_(table) {}

    /// As classify_function. common  the rules' categories; 0: they differ
    void classify(const uint8_t* const* data, uint32_t* results, uint32_t n, uint32_t wanted,
                  uint32_t common) const noexcept {
        for (uint32_t i = 0; i < n; i += together) {
            const uint8_t* key[together];
#pragma GCC unroll 8
            for (uint32_t k = 0; k < together; ++k) key[k] = data[i + k < n ? i + k : n - 1];
            simd_word found[together][registers];
            intersect(key, found);
            const uint32_t keys = n - i < together ? n - i : together;
#pragma GCC unroll 8
            for (uint32_t k = 0; k < together; ++k)
                if (k < keys) store(found[k], results + (i + k) * wanted, wanted, common);
        }
    }

  private:
    static simd_word load(const uint64_t* vector, uint32_t at) noexcept {
        return V::load(reinterpret_cast<const uint32_t*>(vector) + at * lanes);
    }
    static void keep(simd_word (&found)[registers], const uint64_t* vector) noexcept {
#pragma GCC unroll 64
        for (uint32_t r = 0; r < registers; ++r) found[r] = found[r] & load(vector, r);
    }

    void intersect(const uint8_t* const (&key)[together],
                   simd_word (&found)[together][registers]) const noexcept {
#pragma GCC unroll 8
        for (uint32_t k = 0; k < together; ++k)
#pragma GCC unroll 64
            for (uint32_t r = 0; r < registers; ++r) found[k][r] = V::set1(~0U);
        for (uint32_t f = 0; f < t_.byte_fields; ++f) {
            const auto& field = t_.byte_field[f];
#pragma GCC unroll 8
            for (uint32_t k = 0; k < together; ++k)
                keep(found[k], field.vectors + field.index[key[k][field.high]]);
        }
        for (uint32_t f = 0; f < t_.pair_fields; ++f) {
            const auto& field = t_.pair_field[f];
#pragma GCC unroll 8
            for (uint32_t k = 0; k < together; ++k) {
                const uint16_t* const block = field.blocks + field.index[key[k][field.high]];
                keep(found[k], field.vectors + block[key[k][field.low]]);
            }
        }
    }

    /// The user data of the first rule.
    uint32_t first_of(const simd_word (&found)[registers]) const noexcept {
        alignas(64) uint32_t word[Bytes / 4];
        std::conditional_t<(Bytes > 128), uint64_t, uint32_t> empty = 0;
#pragma GCC unroll 64
        for (uint32_t r = 0; r < registers; ++r) {
            V::store(word + r * lanes, found[r]);
            empty |=
                decltype(empty){V::sign_bits(V::template equal<uint32_t>(found[r], V::set1(0)))}
                << r * lanes;
        }
        // The last bit is always set. Bits of `empty` behind the last word are of no word: they are not reached.
        const auto at =
            static_cast<uint32_t>(sizeof empty == 8 ? __builtin_ctzll(~empty)
                                                    : __builtin_ctz(static_cast<uint32_t>(~empty)));
        return t_.user_data[32 * at + static_cast<uint32_t>(__builtin_ctz(word[at]))];
    }

    void store(const simd_word (&found)[registers], uint32_t* results, uint32_t wanted,
               uint32_t common) const noexcept {
        if (common != 0) {
            const uint32_t best = first_of(found);
            if (wanted == 1) {
                *results = best & (0U - (common & 1));
                return;
            }
            for (uint32_t c = 0; c < wanted; ++c) results[c] = (common >> c & 1) != 0 ? best : 0;
            return;
        }
        for (uint32_t c = 0; c < wanted; ++c) {
            simd_word in_category[registers];
#pragma GCC unroll 64
            for (uint32_t r = 0; r < registers; ++r)
                in_category[r] = found[r] & load(t_.categories + c * (Bytes / 8), r);
            results[c] = first_of(in_category);
        }
    }

    const turnpike::acl::bit_vectors& t_;
};

}  // namespace
