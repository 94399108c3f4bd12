// SPDX-License-Identifier: BSD-3-Clause
// Comparisons of a whole burst, by vectors.
#pragma once

#include <array>
#include <bit>
#include <cstddef>

#include "datapath/burst.hpp"
#include "isa/simd/v128.hpp"

namespace turnpike::datapath {

/// Whether the first n values, under a mask, are equal. Eight at a time.
/// n  at least 1
inline bool all_equal(const std::array<uint16_t, burst_max>& values, uint32_t n,
                      uint16_t mask) noexcept {
    const auto twice = [](uint32_t x) { return v128::set1(x << 16 | x); };
    const uint32_t wanted = values[0] & mask;
    const v128 of_all = twice(wanted), masks = twice(mask);
    v128 differ = v128::set1(0);
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) differ = differ | ((v128::load_any(&values[i]) & masks) ^ of_all);
    uint32_t rest = 0;
    for (; i < n; ++i) rest |= (values[i] & mask) ^ wanted;
    return rest == 0 && !v128::any(differ);
}

/// Whether n packets have the first packet's egress, under a mask of its 32 bits. Four at a time.
/// n  at least 1
inline bool all_equal(const std::array<egress, burst_max>& out, uint32_t n,
                      uint32_t mask) noexcept {
    static_assert(sizeof(egress) == sizeof(uint32_t));
    const auto first = std::bit_cast<uint32_t>(out[0]);
    v128 differ = v128::set1(0);
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) differ = differ | (v128::load_any(&out[i]) ^ v128::set1(first));
    uint32_t rest = 0;
    for (; i < n; ++i) rest |= std::bit_cast<uint32_t>(out[i]) ^ first;
    return (rest & mask) == 0 && !v128::any(differ & v128::set1(mask));
}

static_assert(offsetof(egress, port) == 0 && std::endian::native == std::endian::little);
inline constexpr uint32_t egress_port = 0xffff,
                          egress_interface = 0xffff'0000;  ///< masks of an egress

/// The packets of a mask that have one egress, under a mask of its 32 bits. Four at a time.
inline packet_mask with_egress(const burst& b, packet_mask packets, egress of,
                               uint32_t mask) noexcept {
    const v128 masks = v128::set1(mask), value = v128::set1(std::bit_cast<uint32_t>(of) & mask);
    const uint32_t n = b.count;
    packet_mask same = 0;
    for (uint32_t i = 0; i < n; i += 4)  // elements behind the last are arbitrary
        same |= v128::sign_bits(v128::equal<uint32_t>(v128::load_any(&b.out[i]) & masks, value))
                << i;
    return same & packets;
}

}  // namespace turnpike::datapath
