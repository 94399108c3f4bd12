// SPDX-License-Identifier: BSD-3-Clause
// A chunk of packets visits one tree after the other, highest priority first. In a tree every
// packet takes one path; packets are kept in lists (structure of arrays) that are compacted without
// branches, so that their loads overlap. A list of leaves is then scanned, eight rules (or a
// vector's lanes) at a time. Each entry has the highest rank below it; a packet skips subtrees that
// cannot improve its match.

#include <type_traits>

#include "acl/kernel/bit_vectors.inl.hpp"
#include "acl/kernel/scan.inl.hpp"
#include "acl/layout.hpp"
#include "isa/simd/simd.hpp"
#ifdef __AVX512VL__
#include "isa/simd/avx512vl.hpp"
#endif

namespace {

/// Entries to visit, and the packet of each.
struct entry_list {
    uint32_t base[room], info[room], low[room], high[room], who[room];
};

template <class V, unsigned Words, bool Multi>
struct walk {
    search<V, Words, Multi>& s;
    /// Entries just loaded, with their packets' filter words and bars.
    entry_list loaded;
    uint32_t filter_key[room], bar[room];
    entry_list nodes;
    uint32_t node_count;
    leaf_list leaves;

    explicit walk(search<V, Words, Multi>& chunk_of) noexcept : s(chunk_of) {}

    void put(uint32_t i, const uint8_t* entry) noexcept {
        const auto* words = reinterpret_cast<const uint64_t*>(entry);
        const uint64_t word = __atomic_load_n(words, __ATOMIC_ACQUIRE);
        const uint64_t data = __atomic_load_n(words + 1, __ATOMIC_RELAXED);
        loaded.info[i] = static_cast<uint32_t>(word);
        loaded.base[i] = static_cast<uint32_t>(word >> 32);
        loaded.low[i] = static_cast<uint32_t>(data);
        loaded.high[i] = static_cast<uint32_t>(data >> 32);
    }

    /// Split the n loaded entries: nodes to one list, leaves that may match to the other.
    void sort_out(uint32_t n, const uint32_t* keys, const uint32_t* bars,
                  const uint32_t* who) noexcept {
        uint32_t nodes_now = 0, leaves_now = leaves.count;
        for (uint32_t i = 0; i < n; i += V::lanes) {
            const auto info = V::load(loaded.info + i);
            const auto rank = info & V::set1(layout::rank_mask);
            const auto behind = V::greater(V::load(bars + i), rank);
            const auto live = V::and_not(behind, info);
            const auto high = V::load(loaded.high + i), low = V::load(loaded.low + i);
            const auto pass = V::template equal<uint32_t>(V::load(keys + i) & high, low);
            const uint32_t lanes = low_bits(n - i, V::lanes);
            const uint32_t leaf = V::sign_bits(live & pass) & lanes;
            const uint32_t node = V::sign_bits(live + live) & lanes;
            const auto base = V::load(loaded.base + i), whose = V::load(who + i);
            // Trees of a single leaf, and vectors rejected as a whole, are common.
            if (leaf != 0) {
                const typename V::compressor to_leaves(leaf);
                to_leaves.store(leaves.base + leaves_now, base);
                to_leaves.store(leaves.info + leaves_now, info);
                to_leaves.store(leaves.who + leaves_now, whose);
                leaves_now += static_cast<uint32_t>(__builtin_popcount(leaf));
            }
            if (node != 0) {
                const typename V::compressor to_nodes(node);
                to_nodes.store(nodes.base + nodes_now, base);
                to_nodes.store(nodes.info + nodes_now, info);
                to_nodes.store(nodes.low + nodes_now, low);
                to_nodes.store(nodes.high + nodes_now, high);
                to_nodes.store(nodes.who + nodes_now, whose);
                nodes_now += static_cast<uint32_t>(__builtin_popcount(node));
            }
        }
        node_count = nodes_now;
        leaves.count = leaves_now;
    }

    /// All packets of the chunk are at the same node: compute their indices with vectors.
    void root_node(uint32_t base, uint32_t info, uint32_t low, uint32_t high) noexcept {
        alignas(64) uint32_t index[room];
        const uint32_t* first = s.key[low & 0xff];
        const uint32_t* second = s.key[high & 0xff];
        const uint32_t first_shift = low >> 8 & 0xff, second_shift = high >> 8 & 0xff;
        const auto first_mask = V::set1(low >> 16), second_mask = V::set1(high >> 16);
        const uint32_t above = info >> layout::count_at & 0xff;
        for (uint32_t i = 0; i < s.n; i += V::lanes)
            V::store(
                index + i,
                (V::shift_right_by(V::load(first + i), first_shift) & first_mask) |
                    V::shift_left_by(
                        V::shift_right_by(V::load(second + i), second_shift) & second_mask, above));
        // Vectors of four are loaded: also initialize the indices after the last packet.
        for (uint32_t i = s.n; i < (s.n + 3) / 4 * 4; ++i) index[i] = 0;
        const uint8_t* children = s.t.arena + uint64_t{base} * layout::granule_bytes;
        for (uint32_t i = 0; i < s.n; i += 4)
            V::load_columns(children, index + i, loaded.info + i, loaded.base + i, loaded.low + i,
                            loaded.high + i);
    }

    uint32_t child(uint32_t j) const noexcept {
        const uint32_t info = nodes.info[j], low = nodes.low[j], high = nodes.high[j];
        const uint32_t who = nodes.who[j];
        const uint32_t first = s.key[low & 0xf][who] >> (low >> 8 & 31) & low >> 16;
        const uint32_t second = s.key[high & 0xf][who] >> (high >> 8 & 31) & high >> 16;
        const uint32_t index = first | second << (info >> layout::count_at & 31);
        return info & layout::indirect_bit ? 0 : index;
    }

    void tree(uint32_t number) noexcept {
        const uint8_t* root =
            s.t.arena + uint64_t{s.t.roots} * layout::granule_bytes + number * layout::entry_bytes;
        const uint32_t* filter_word = s.key[s.t.filter_word[number]];
        leaves.count = 0;
        put(0, root);
        const uint32_t info = loaded.info[0];
        if (info == 0) return;
        if ((info & layout::node_bit) != 0 && (info & layout::indirect_bit) == 0)
            root_node(loaded.base[0], info, loaded.low[0], loaded.high[0]);
        else
            for (uint32_t i = 1; i < s.n; ++i) put(i, root);
        sort_out(s.n, filter_word, s.bar, s.everyone);
        while (node_count != 0) {
            const uint32_t now = node_count;
            for (uint32_t j = 0; j < now; ++j) {
                const uint32_t at = child(j);
                const uint32_t who = nodes.who[j];
                put(j, s.t.arena + (uint64_t{nodes.base[j]} + at) * layout::granule_bytes);
                filter_key[j] = filter_word[who];
                bar[j] = s.bar[who];
                loaded.who[j] = who;
            }
            sort_out(now, filter_key, bar, loaded.who);
        }
        s.scan(leaves);
    }
};

template <class V, unsigned Words, bool Multi>
inline void classify_all(const acl::view& t, const uint8_t* const* data, uint32_t* results,
                         uint32_t n, uint32_t categories) noexcept {
    for (uint32_t at = 0; at < n; at += chunk) {
        search<V, Words, Multi> s(t, data + at, n - at < chunk ? n - at : chunk, categories);
        walk<V, Words, Multi> w(s);
        for (uint32_t i = 0; i < t.trees; ++i) w.tree(i);
        s.store(results + at * categories);
    }
}

/// Not wider than the shortest vectors.
#ifdef __AVX512VL__
template <class V>
using narrow = std::conditional_t<(V::lanes > 8), ::avx512vl, V>;
#else
template <class V>
using narrow = V;
#endif

template <class V>
inline void classify_by_vectors(const acl::bit_vectors& vectors, uint32_t common,
                                const uint8_t* const* data, uint32_t* results, uint32_t n,
                                uint32_t categories) noexcept {
    if (vectors.vector_bytes == 32)
        bit_vector_search<narrow<V>, 32>(vectors, common).classify(data, results, n, categories);
    else if (vectors.vector_bytes == 64)
        bit_vector_search<V, 64>(vectors, common).classify(data, results, n, categories);
    else if (vectors.vector_bytes == 128)
        bit_vector_search<V, 128>(vectors, common).classify(data, results, n, categories);
    else
        bit_vector_search<V, 256>(vectors, common).classify(data, results, n, categories);
}

template <class V>
inline void classify_burst(const acl::view& t, const uint8_t* const* data, uint32_t* results,
                           uint32_t n, uint32_t categories) noexcept {
    if (const auto* vectors = __atomic_load_n(&t.vectors, __ATOMIC_ACQUIRE); vectors != nullptr)
        return classify_by_vectors<V>(*vectors, t.categories, data, results, n, categories);
    // IPv4 rules without VLAN get a specialized copy of the code.
    const bool plain = t.key_words == acl::ipv4_words && t.stored_words == 4 && t.stored[0] == 0 &&
                       t.stored[1] == 1 && t.stored[2] == 3;
    if (t.categories == 0)
        plain ? classify_all<V, 4, true>(t, data, results, n, categories)
              : classify_all<V, 0, true>(t, data, results, n, categories);
    else
        plain ? classify_all<V, 4, false>(t, data, results, n, categories)
              : classify_all<V, 0, false>(t, data, results, n, categories);
}

}  // namespace

namespace turnpike::acl::TURNPIKE_ISA {

void classify(const view& t, const uint8_t* const* data, uint32_t* results, uint32_t n,
              uint32_t categories) noexcept {
    classify_burst<simd>(t, data, results, n, categories);
}

#ifdef __AVX512VL__
void classify_x16(const view& t, const uint8_t* const* data, uint32_t* results, uint32_t n,
                  uint32_t categories) noexcept {
    classify_burst<::avx512vl>(t, data, results, n, categories);
}
#endif

}  // namespace turnpike::acl::TURNPIKE_ISA
