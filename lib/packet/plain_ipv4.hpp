// SPDX-License-Identifier: BSD-3-Clause
// Plain IPv4 frames, found in bulk: those that a router forwards without a second look at them.
// Plain is an untagged Ethernet frame from one station to us with an IPv4 header without options that
// passes all that RFC 1812 asks of it: section 5.2.2's five tests, a TTL over 1 (5.3.1), and addresses
// that may be forwarded (5.3.7, ipv4.hpp). Whether the source is one of our own is the caller's to ask.
#pragma once

#include <cstdint>
#include <span>

#include "isa/isa.hpp"
#include "net/mac.hpp"

namespace turnpike::packet {

inline constexpr uint32_t plain_burst = 32;

/// What the packets of a burst say; entries of packets that are not plain mean nothing, but for l3_bytes.
struct alignas(64) plain_ipv4 {
    uint32_t source[plain_burst], destination[plain_burst];  ///< host order
    uint32_t l3_bytes[plain_burst];  ///< total length, header included; 0: it is not plain
    /// TTL, protocol and header checksum (bytes 8 to 11 of the header) with one hop less (RFC 1624
    /// equation 3), host order.
    uint32_t forwarded[plain_burst];
};

/// frame    [n, rounded up to a multiple of 16] the first byte of each frame, of which 34 can be read;
///          those beyond n may be any
/// frame_bytes  [likewise] of each frame; 0 where it is not to be plain
/// n        up to plain_burst
/// us       the destination MAC address that is ours; no group
/// Answers  bit i: frame i is plain, and what it says stands in `out`
/// Threads  any. Errors none.
using plain_ipv4_function = uint32_t(const uint8_t* const* frame, const uint32_t* frame_bytes,
                                     uint32_t n, const mac_address& us, plain_ipv4& out) noexcept;

/// The kernels, best first.
std::span<const isa::kernel<plain_ipv4_function>> plain_ipv4_kernels() noexcept;

}  // namespace turnpike::packet
