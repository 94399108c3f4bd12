// SPDX-License-Identifier: BSD-3-Clause
// Shared by both kernels: loads, links of byte nodes, and bursts of one destination.

#include "fib/layout.hpp"

namespace {

namespace fib = turnpike::fib;
namespace layout = turnpike::fib::layout;

/// Acquire: the target of an entry was written before it. A plain load on x86.
inline uint32_t load_entry(const uint32_t* at) noexcept {
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

inline uint32_t load_entry(const uint8_t* at) noexcept {
    return load_entry(reinterpret_cast<const uint32_t*>(at));
}

inline uint64_t load_word(const uint8_t* at) noexcept {
    uint64_t x;
    __builtin_memcpy(&x, at, sizeof x);
    return x;
}

/// The entry of slot `byte` in the byte node that `link` leads to.
template <class V>
inline uint32_t byte_entry(const uint8_t* nodes, uint64_t link, uint64_t byte) noexcept {
    const uint8_t* node = nodes + link - layout::node_bit;
    const uint64_t word = byte / 64;
    const uint64_t run = V::popcount(load_word(node + word * 8) >> (byte & 63)) +
                         node[layout::byte_node_after_at + word];
    return load_entry(node + layout::byte_node_entries_at - 4 + run * 4);
}

inline uint32_t load_half(const uint8_t* at) noexcept {
    uint32_t x;
    __builtin_memcpy(&x, at, sizeof x);
    return x;
}

/// True if each of `count` words equals the one `distance` bytes after it, in the bits of `mask`.
template <class V>
[[gnu::noinline]] bool all_repeat(const uint8_t* words, uint32_t count, uint32_t distance,
                                  uint32_t mask) noexcept {
    const auto differ = [&](uint32_t i) {
        const auto load = [](const uint8_t* at) {
            return V::load(reinterpret_cast<const uint32_t*>(at));
        };
        return load(words + 4 * i) ^ load(words + 4 * i + distance);
    };
    if (count < V::lanes) {
        uint32_t any = 0;
        for (; count > 0; --count, words += 4)
            any |= load_half(words) ^ load_half(words + distance);
        return (any & mask) == 0;
    }
    V any = differ(count - V::lanes);  // the tail; overlaps with the words before it
    for (uint32_t i = 0; i < count - V::lanes; i += V::lanes) any = any | differ(i);
    return !V::any(any & V::set1(mask));
}

/// True if all n > 1 addresses are equal in the bits of `mask` (of each word). Bursts to one
/// destination are common, and one lookup serves the whole burst. Comparing the first, middle and
/// last address rejects most other bursts.
template <class V, uint32_t Bytes>
inline bool train(const void* addresses, uint32_t n, uint32_t mask) noexcept {
    const auto* at = static_cast<const uint8_t*>(addresses);
    const auto last_word = [at](uint32_t i) { return load_half(at + i * Bytes + Bytes - 4); };
    const uint32_t differ = (last_word(0) ^ last_word(n / 2)) | (last_word(0) ^ last_word(n - 1));
    if (__builtin_expect((differ & mask) != 0, 1)) return false;
    return all_repeat<V>(at, (n - 1) * (Bytes / 4), Bytes, mask);
}

/// Set all n > 1 next hops to hop[0].
inline void repeat(uint64_t* nexthop, uint32_t n) noexcept {
    const uint64_t first = nexthop[0];
    // Uses pointers: with a 32-bit index, which may wrap, the compiler generates scattered stores.
    uint64_t* const end = nexthop + n;
    for (; end - nexthop >= 8; nexthop += 8)
        for (int k = 0; k < 8; ++k) nexthop[k] = first;
    for (; nexthop != end; ++nexthop) *nexthop = first;
}

}  // namespace
