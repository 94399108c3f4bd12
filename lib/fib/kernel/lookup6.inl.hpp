// SPDX-License-Identifier: BSD-3-Clause
// IPv6: a root of 2^16 entries, then byte nodes. A chunk goes down together, one level a pass, so
// that its loads overlap; who met a leaf leaves the work list, which is compacted without a branch.

#include "fib/kernel/resolve.inl.hpp"

namespace {

namespace fib = turnpike::fib;
namespace layout = turnpike::fib::layout;

constexpr uint32_t address_bytes = 16;

template <class V>
inline uint32_t byte_entry(const uint8_t* node, unsigned byte) noexcept {
    const unsigned word = byte / 64;
    const uint64_t run = V::popcount(load_word(node + word * 8) >> (byte & 63)) +
                         node[layout::byte_node_after_at + word];
    return load_entry(reinterpret_cast<const uint32_t*>(node + layout::byte_node_entries_at - 4) +
                      run);
}

template <class V>
inline void lookup6_chunk(const fib::view& t, const uint8_t* dst, uint64_t* hop,
                          uint32_t n) noexcept {
    const uint32_t* const root = t.root;  // in registers: after an acquire load t is read again
    const uint8_t* const nodes = t.nodes;
    uint32_t id[chunk];
    // Addresses still on their way down: entry << 32 | index. A pass reads one list and writes the
    // other, so that no load waits for a store of its own pass.
    uint64_t list[2][chunk + 1];
    uint64_t left = 0;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < n; ++i) {
        const uint8_t* a = dst + i * address_bytes;
        const uint32_t e = load_entry(root + (uint32_t{a[0]} << 8 | a[1]));
        V::prefetch(nodes + e);
        id[i] = e >> 1;
        list[0][left] = uint64_t{e} << 32 | i;
        left += ~e & layout::leaf_bit;
    }
    for (unsigned depth = 2; left != 0; ++depth) {
        const uint64_t now = left;
        const uint64_t* from = list[depth % 2];
        uint64_t* to = list[1 - depth % 2];
        const uint8_t* byte = dst + depth;
        left = 0;
#pragma GCC unroll 4
        for (uint64_t k = 0; k < now; ++k) {
            const uint64_t item = from[k];
            const auto i = static_cast<uint32_t>(item);
            const uint32_t e = byte_entry<V>(nodes + (item >> 32), byte[i * address_bytes]);
            V::prefetch(nodes + e);
            id[i] = e >> 1;
            to[left] = uint64_t{e} << 32 | i;
            left += ~e & layout::leaf_bit;
        }
    }
    resolve<V>(t, id, hop, n);
}

template <class V>
inline void lookup6_burst(const fib::view& t, const uint8_t* dst, uint64_t* hop,
                          uint32_t n) noexcept {
    for (uint32_t at = 0; at < n; at += chunk)
        lookup6_chunk<V>(t, dst + at * address_bytes, hop + at, n - at < chunk ? n - at : chunk);
}

}  // namespace
