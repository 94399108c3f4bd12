// SPDX-License-Identifier: BSD-3-Clause
// Finds fast-path IPv4 frames in bulk: frames that a router forwards on the fast path. A fast-path frame is
// an untagged unicast Ethernet frame to us with an IPv4 header without options that passes RFC
// 1812's checks: section 5.2.2's five tests, a TTL over 1 (5.3.1), and addresses that may be
// forwarded (5.3.7, ipv4.hpp). The caller must check that the source is not one of our own
// addresses.
#pragma once

#include <cstdint>
#include <span>

#include "isa/isa.hpp"
#include "net/mac.hpp"

namespace turnpike::packet {

inline constexpr uint32_t fast_ipv4_frames = 32;

/// Header fields of a burst; except l3_bytes, entries of other packets are undefined.
struct alignas(64) fast_ipv4 {
    uint32_t source[fast_ipv4_frames], destination[fast_ipv4_frames];  ///< host order
    uint32_t l3_bytes
        [fast_ipv4_frames];  ///< total length, including the header; 0: not for the fast path
    /// TTL, protocol and header checksum (bytes 8 to 11 of the header) after decrementing the TTL
    /// (RFC 1624 equation 3), as they stand in the header.
    uint32_t forwarded[fast_ipv4_frames];
    // Frames behind the last count, too.
    uint32_t longest;  ///< the greatest l3_bytes
    bool padded;       ///< some fast-path frame is longer than its packet
};

/// frame    [n, rounded up to a multiple of 16] the first byte of each frame, 34 bytes readable;
///          entries beyond n may be any readable address
/// frame_bytes  [likewise] length of each frame; 0: the frame is not for the fast path
/// n        up to fast_ipv4_frames
/// us       our destination MAC address; not a group address
/// Returns  bit i: frame i is for the fast path, and `out` has its fields
/// Threads  any. Errors none.
using fast_ipv4_function = uint32_t(const uint8_t* const* frame, const uint32_t* frame_bytes,
                                    uint32_t n, const mac_address& us, fast_ipv4& out) noexcept;

/// The kernels, best first.
std::span<const isa::kernel<fast_ipv4_function>> fast_ipv4_kernels() noexcept;

}  // namespace turnpike::packet
