// SPDX-License-Identifier: BSD-3-Clause
// Ids to next hops, the last step of both kernels.

namespace {

/// Lookups worked at a time: enough independent loads to keep a core's miss buffers full, and the
/// arrays between the passes stay in L1 (turnpike-bench-fib).
constexpr uint32_t chunk = 64;

/// Acquire: what an entry leads to was written before it. A plain load on x86.
inline uint32_t load_entry(const uint32_t* at) noexcept {
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

inline uint64_t load_word(const uint8_t* at) noexcept {
    uint64_t x;
    __builtin_memcpy(&x, at, sizeof x);
    return x;
}

template <class V, class Id>
inline void resolve(const turnpike::fib::view& t, const Id* id, uint64_t* hop,
                    uint32_t n) noexcept {
    uint32_t i = 0;
    if (t.hops != nullptr) {
#pragma GCC unroll 4
        for (; i < n; ++i) hop[i] = __atomic_load_n(&t.hops[id[i]], __ATOMIC_RELAXED);
        return;
    }
    for (; i + V::wide <= n; i += V::wide) V::zero_extend(hop + i, id + i);
    for (; i < n; ++i) hop[i] = id[i];
}

}  // namespace
