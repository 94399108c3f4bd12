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
    uint32_t entry[chunk];
    uint8_t pending[chunk];  // indices of addresses still on their way down
    uint32_t left = 0;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < n; ++i) {
        const uint8_t* a = dst + i * address_bytes;
        const uint32_t e = load_entry(t.root + (uint32_t{a[0]} << 8 | a[1]));
        entry[i] = e;
        V::prefetch(t.nodes + e);
        pending[left] = static_cast<uint8_t>(i);
        left += ~e & layout::leaf_bit;
    }
    for (unsigned depth = 2; left != 0; ++depth) {
        const uint32_t now = left;
        left = 0;
#pragma GCC unroll 4
        for (uint32_t k = 0; k < now; ++k) {
            const uint8_t i = pending[k];
            const uint32_t e = byte_entry<V>(t.nodes + entry[i], dst[i * address_bytes + depth]);
            entry[i] = e;
            V::prefetch(t.nodes + e);
            pending[left] = i;
            left += ~e & layout::leaf_bit;
        }
    }
    for (uint32_t i = 0; i < n; ++i) entry[i] >>= 1;
    resolve<V>(t, entry, hop, n);
}

template <class V>
inline void lookup6_burst(const fib::view& t, const uint8_t* dst, uint64_t* hop,
                          uint32_t n) noexcept {
    for (uint32_t at = 0; at < n; at += chunk)
        lookup6_chunk<V>(t, dst + at * address_bytes, hop + at, n - at < chunk ? n - at : chunk);
}

}  // namespace
