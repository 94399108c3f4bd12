// SPDX-License-Identifier: BSD-3-Clause
// The stamp in a generated frame's UDP payload, which identifies the generator and the sequence
// number: 18 bytes, which fit a frame of 64 bytes (FCS included).
//
//   magic (32) | source (16) | sequence (64) | check (32)       big-endian
#pragma once

#include "base/byte_order.hpp"

namespace turnpike::simnic {

inline constexpr uint32_t stamp_bytes = 18;
inline constexpr uint32_t stamp_magic = 0x7475726e;
inline constexpr uint8_t generated_ttl = 64;

constexpr uint32_t stamp_check(uint16_t source, uint64_t sequence) noexcept {
    return static_cast<uint32_t>((sequence + 1) * 0x9e37'79b9'7f4a'7c15u >> 32) ^ source;
}

/// The part that all frames of a generator share.
inline void write_stamp_source(uint8_t* at, uint16_t source) noexcept {
    store_be(at, stamp_magic);
    store_be(at + 4, source);
}

/// The part that differs per frame.
inline void write_stamp_sequence(uint8_t* at, uint64_t sequence, uint32_t check) noexcept {
    store_be(at + 6, sequence);
    store_be(at + 14, check);
}

}  // namespace turnpike::simnic
