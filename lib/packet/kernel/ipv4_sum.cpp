// SPDX-License-Identifier: BSD-3-Clause
// A burst of IPv4 headers, one per lane: 16 bytes are summed as a block, plus 4 more; options (IHL
// > 5, rare) are added lane by lane. One's complement addition does not depend on byte order (RFC
// 1071 section 2, B), so words are summed in memory order and the folded sum is swapped once at the
// end.

#include <cstdint>

#include "isa/simd/simd.hpp"

namespace {

template <class V>
inline V fold_lanes(V sum) noexcept {
    const V low = V::set1(0xffff);
    sum = (sum & low) + V::template shift_right<16>(sum);
    return (sum & low) + V::template shift_right<16>(sum);
}

template <class V>
inline void sum_lanes(const uint8_t* const* header, const uint8_t* bytes, uint16_t* sum,
                      unsigned used) noexcept {
    const V low = V::set1(0xffff);
    const V last = V::load_u32_each(header, 16);
    V total = V::sum_halves_each(header) + (last & low) + V::template shift_right<16>(last);
    bool options = false;
    for (unsigned i = 0; i < used; ++i) options |= bytes[i] > 20;
    uint32_t lane[V::lanes] = {};
    if (options) {
        for (unsigned i = 0; i < used; ++i)
            for (unsigned at = 20; at < bytes[i]; at += 2) {
                uint16_t word;
                __builtin_memcpy(&word, header[i] + at, sizeof word);
                lane[i] += word;
            }
        total = total + V::load(lane);
    }
    V::store(lane, fold_lanes(total));
    for (unsigned i = 0; i < used; ++i) sum[i] = __builtin_bswap16(static_cast<uint16_t>(lane[i]));
}

template <class V>
inline void sum_burst(const uint8_t* const* header, const uint8_t* bytes, uint16_t* sum,
                      uint32_t n) noexcept {
    uint32_t i = 0;
    for (; i + V::lanes <= n; i += V::lanes) sum_lanes<V>(header + i, bytes + i, sum + i, V::lanes);
    if (i == n) return;
    // The last lanes: repeat the last header, so that every lane reads a valid one.
    const uint8_t* rest[V::lanes];
    uint8_t rest_bytes[V::lanes];
    for (unsigned k = 0; k < V::lanes; ++k) {
        rest[k] = header[i + k < n ? i + k : n - 1];
        rest_bytes[k] = bytes[i + k < n ? i + k : n - 1];
    }
    sum_lanes<V>(rest, rest_bytes, sum + i, n - i);
}

}  // namespace

namespace turnpike::packet::TURNPIKE_ISA {

void ipv4_sum(const uint8_t* const* header, const uint8_t* bytes, uint16_t* sum,
              uint32_t n) noexcept {
    sum_burst<simd>(header, bytes, sum, n);
}

}  // namespace turnpike::packet::TURNPIKE_ISA
