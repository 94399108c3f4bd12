// SPDX-License-Identifier: BSD-3-Clause
// Finds fast-path IPv6 frames in bulk, as fast_ipv4.hpp finds IPv4's: untagged unicast Ethernet frames to us with an IPv6 header
// (RFC 8200) without extension headers, a hop limit over 1, an upper layer that is not ICMPv6, and two different global or
// unique local unicast addresses (RFC 4291 section 2.4: 2000::/3, fc00::/7), which is nearly all traffic. The caller must
// check that the source is not one of our own addresses.
#pragma once

#include <cstdint>
#include <span>

#include "isa/isa.hpp"
#include "net/mac.hpp"
#include "packet/headers.hpp"

namespace turnpike::packet {

inline constexpr uint32_t fast_ipv6_frames = 32;

struct alignas(64) fast_ipv6 {
    uint32_t
        l3_bytes[fast_ipv6_frames];  ///< length, including the header; 0: not for the fast path
    // Frames behind the last count, too.
    uint32_t longest;  ///< the greatest l3_bytes
    bool padded;       ///< some fast-path frame is longer than its packet
    uint32_t doubt;    ///< bit i: frame i is for the fast path only if is_fast_for_sure()
};

/// frame    [n, rounded up to a multiple of 16] the first byte of each frame, 54 bytes readable;
///          entries beyond n may be any readable address
/// frame_bytes  [likewise] length of each frame; 0: the frame is not for the fast path
/// n        up to fast_ipv6_frames
/// us       our destination MAC address; not a group address
/// Returns  bit i: frame i is for the fast path, unless `out` has a doubt
/// Threads  any. Errors none.
using fast_ipv6_function = uint32_t(const uint8_t* const* frame, const uint32_t* frame_bytes,
                                    uint32_t n, const mac_address& us, fast_ipv6& out) noexcept;

/// For a frame with a doubt: its upper layer is neither TCP nor UDP, or its addresses may be equal.
inline bool is_fast_for_sure(const ipv6_header& ip) noexcept {
    return !is_ipv6_extension(ip.next_header) && ip.next_header != protocol_icmpv6 &&
           ip.source != ip.destination;
}

/// The kernels, best first.
std::span<const isa::kernel<fast_ipv6_function>> fast_ipv6_kernels() noexcept;

}  // namespace turnpike::packet
