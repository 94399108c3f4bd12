// SPDX-License-Identifier: BSD-3-Clause
// The stamp behind the UDP header of each frame: 18 bytes, which fit a frame of 64 bytes (FCS included).
//
//   check (32) | trial (16) | stream (8) | sequence (40) | TSC (48)        big-endian
#pragma once

#include <cstdint>

#include "base/byte_order.hpp"

namespace turnpike::throughput {

inline constexpr uint32_t stamp_bytes = 18;
inline constexpr uint64_t max_sequence = (uint64_t{1} << 40) - 1;
inline constexpr uint64_t stamp_time_mask = (uint64_t{1} << 48) - 1;

struct stamp {
    uint16_t trial = 0;  ///< 0: learning and warm-up frames
    uint8_t stream = 0;  ///< the sending port
    uint64_t sequence = 0;
    uint64_t tsc = 0;  ///< the low 48 bits of the sender's TSC
};

namespace detail {
/// Differs for frames that differ in any bit of the stamp, but for one pair in 2^32.
inline uint32_t check_of(uint64_t high, uint64_t low) noexcept {
    uint64_t h = (high ^ 0x9e37'79b9'7f4a'7c15u) * 0xbf58'476d'1ce4'e5b9u;
    h = (h ^ h >> 29 ^ low) * 0x94d0'49bb'1331'11ebu;
    return static_cast<uint32_t>(h >> 32);
}
}  // namespace detail

inline void write_stamp(uint8_t* at, const stamp& s) noexcept {
    const uint64_t high = uint64_t{s.trial} << 48 | uint64_t{s.stream} << 40 | s.sequence,
                   low = s.tsc & stamp_time_mask;
    store_be(at, detail::check_of(high, low));
    store_be(at + 4, high);
    store_be(at + 12, static_cast<uint16_t>(low >> 32));
    store_be(at + 14, static_cast<uint32_t>(low));
}

/// False: the check does not match.
inline bool read_stamp(const uint8_t* at, stamp& s) noexcept {
    const auto high = load_be<uint64_t>(at + 4);
    const uint64_t low = uint64_t{load_be<uint16_t>(at + 12)} << 32 | load_be<uint32_t>(at + 14);
    s = {static_cast<uint16_t>(high >> 48), static_cast<uint8_t>(high >> 40), high & max_sequence,
         low};
    return load_be<uint32_t>(at) == detail::check_of(high, low);
}

}  // namespace turnpike::throughput
