// SPDX-License-Identifier: BSD-3-Clause
// Search by bit vectors (bit_vectors.hpp): nodes find a key's group; the vectors of the key's fields have the group's rules
// that match each of them, and their intersection's first bit is the best rule. A few keys at a time, so that their
// loads overlap.

#include <type_traits>

#include "acl/layout.hpp"

namespace {

/// V: the registers. Bytes: the length of a vector.
template <class V, unsigned Bytes>
class bit_vector_search {
    using simd_word = decltype(V::set1(0));
    using tables = turnpike::acl::bit_vectors;
    static constexpr uint32_t lanes = V::lanes, registers = Bytes / 4 / lanes;
    static_assert(Bytes % (4 * lanes) == 0 && Bytes / 4 <= 64);
    /// Keys at a time, in up to eight registers.
    static constexpr uint32_t together = registers <= 8 ? 8 / registers : 1;

  public:
    /// common  the rules' categories; 0: they differ
    bit_vector_search(const tables& table, uint32_t common) noexcept
        : t_(table),
          common_(common),
          fields_at_(tables::header_bytes + 8 * Bytes * 4 +
                     (common == 0 ? turnpike::acl::max_categories * Bytes : 0)) {}

    /// As classify_function.
    void classify(const uint8_t* const* data, uint32_t* results, uint32_t n,
                  uint32_t wanted) const noexcept {
        if (t_.groups == 1)
            search_all<division::none>(data, results, n, wanted);
        else if (t_.parts == 1)
            search_all<division::groups>(data, results, n, wanted);
        else
            search_all<division::parts>(data, results, n, wanted);
        if (common_ != 0 && wanted != 1) spread(results, n, wanted);
    }

  private:
    template <class T>
    static T read(const uint8_t* from) noexcept {
        T x;
        __builtin_memcpy(&x, from, sizeof x);
        return x;
    }
    const uint8_t* at(uint32_t place) const noexcept {
        return t_.block + uint64_t{place / 2} * tables::granule_bytes;
    }

    enum class division : uint8_t { none, groups, parts };

    /// Not inlined: in one function GCC 12 spills registers in the loops.
    template <division D>
    [[gnu::noinline]] void search_all(const uint8_t* const* data, uint32_t* results, uint32_t n,
                                      uint32_t wanted) const noexcept {
        const uint32_t searched = common_ != 0 ? 1 : wanted;
        // Only one is wanted, and the rules may not be in that.
        const uint32_t kept = common_ != 0 && wanted == 1 ? 0U - (common_ & 1) : ~0U;
        constexpr bool several = D == division::parts;
        const uint32_t parts = several ? t_.parts : 1;
        if (several)
            for (uint32_t i = 0; i < n * wanted; ++i) results[i] = ~0U;
        for (uint32_t i = 0; i < n; i += together) {
            const uint8_t* key[together];
#pragma GCC unroll 8
            for (uint32_t k = 0; k < together; ++k) key[k] = data[i + k < n ? i + k : n - 1];
            const uint32_t keys = n - i < together ? n - i : together;
            for (uint32_t p = 0; p < parts; ++p)
                search<D>(t_.part_at[p], key, keys, results + i * wanted, wanted, searched, kept);
        }
        if (!several) return;
        for (uint32_t i = 0; i < n; ++i, results += wanted)
            for (uint32_t c = 0; c < searched; ++c) results[c] = t_.user_data[results[c]] & kept;
    }

    /// results  in rows of `wanted`, of which `searched` are asked for; of parts: the numbers of the best rules so far
    template <division D>
    [[gnu::always_inline]] void search(const tables::part& part,
                                       const uint8_t* const (&key)[together], uint32_t keys,
                                       uint32_t* results, uint32_t wanted, uint32_t searched,
                                       uint32_t kept) const noexcept {
        const uint8_t* group[together];
        if (D == division::none)
            group[0] = at(part.root);
        else
            find_groups(part, key, group);
        simd_word found[together][registers];
        intersect<D>(part, key, group, found);
#pragma GCC unroll 8
        for (uint32_t k = 0; k < together; ++k)
            if (k < keys)
                store<D == division::parts>(found[k], group[D == division::none ? 0 : k],
                                            results + k * wanted, searched, kept);
    }

    [[gnu::always_inline]] void find_groups(const tables::part& part,
                                            const uint8_t* const (&key)[together],
                                            const uint8_t* (&group)[together]) const noexcept {
        uint32_t place[together];
#pragma GCC unroll 8
        for (uint32_t k = 0; k < together; ++k) place[k] = part.root;
        for (uint32_t level = 0; level < part.levels; ++level)
#pragma GCC unroll 8
            for (uint32_t k = 0; k < together; ++k) {
                // A group is read as if it were a node, so that ways of different lengths need no branch.
                const uint8_t* const node = at(place[k]);
                const uint32_t byte = key[k][read<uint16_t>(node)];
                const auto child = read<uint32_t>(node + tables::header_bytes + 4 * uint64_t{byte});
                place[k] = (place[k] & tables::group_bit) != 0 ? place[k] : child;
            }
#pragma GCC unroll 8
        for (uint32_t k = 0; k < together; ++k) group[k] = at(place[k]);
    }

    static simd_word load(const uint8_t* vector, uint32_t at) noexcept {
        return V::load(reinterpret_cast<const uint32_t*>(vector) + at * lanes);
    }
    static void keep(simd_word (&found)[registers], const uint8_t* vector) noexcept {
#pragma GCC unroll 64
        for (uint32_t r = 0; r < registers; ++r) found[r] = found[r] & load(vector, r);
    }
    static const uint8_t* entry(const uint8_t* group, const uint8_t* index,
                                uint32_t byte) noexcept {
        return group + uint64_t{read<uint16_t>(index + 2 * uint64_t{byte})} * tables::offset_unit;
    }

    template <division D>
    [[gnu::always_inline]] void intersect(const tables::part& part,
                                          const uint8_t* const (&key)[together],
                                          const uint8_t* const (&group)[together],
                                          simd_word (&found)[together][registers]) const noexcept {
#pragma GCC unroll 8
        for (uint32_t k = 0; k < together; ++k)
#pragma GCC unroll 64
            for (uint32_t r = 0; r < registers; ++r) found[k][r] = V::set1(~0U);
        const auto group_of = [&group](uint32_t k) { return group[D == division::none ? 0 : k]; };
        uint64_t index = fields_at_;
        for (uint32_t f = 0; f < part.byte_fields; ++f, index += 512) {
            const uint32_t byte = part.byte_field[f].high;
#pragma GCC unroll 8
            for (uint32_t k = 0; k < together; ++k)
                keep(found[k], entry(group_of(k), group_of(k) + index, key[k][byte]));
        }
        for (uint32_t f = 0; f < part.port_fields; ++f, index += 512) {
            const auto [high, low] = part.port_field[f];
#pragma GCC unroll 8
            for (uint32_t k = 0; k < together; ++k) {
                const uint8_t* const block = entry(group_of(k), group_of(k) + index, key[k][high]);
                keep(found[k], entry(group_of(k), block, key[k][low]));
            }
        }
    }

    /// The number of the first rule.
    [[gnu::always_inline]] static uint32_t first_of(const simd_word (&found)[registers],
                                                    const uint8_t* group) noexcept {
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
        const uint32_t rule = 32 * at + static_cast<uint32_t>(__builtin_ctz(word[at]));
        return read<uint32_t>(group + tables::header_bytes + 4 * uint64_t{rule});
    }

    template <bool Several>
    [[gnu::always_inline]] void store(const simd_word (&found)[registers], const uint8_t* group,
                                      uint32_t* results, uint32_t searched,
                                      uint32_t kept) const noexcept {
        const auto put = [](uint32_t& to, uint32_t found_one) {
            to = Several && to < found_one ? to : found_one;
        };
        if (common_ != 0) return put(*results, first_of(found, group) & (Several ? ~0U : kept));
        const uint8_t* const categories = group + tables::header_bytes + 8 * Bytes * 4;
        for (uint32_t c = 0; c < searched; ++c) {
            simd_word in_category[registers];
#pragma GCC unroll 64
            for (uint32_t r = 0; r < registers; ++r)
                in_category[r] = found[r] & load(categories + c * Bytes, r);
            put(results[c], first_of(in_category, group));
        }
    }

    /// The first result of each row is that of all the rules' categories.
    void spread(uint32_t* results, uint32_t n, uint32_t wanted) const noexcept {
        for (uint32_t i = 0; i < n; ++i, results += wanted) {
            const uint32_t best = results[0];
            for (uint32_t c = 0; c < wanted; ++c) results[c] = best & (0U - (common_ >> c & 1));
        }
    }

    const tables& t_;
    uint32_t common_;
    uint32_t fields_at_;  ///< of a group
};

}  // namespace
