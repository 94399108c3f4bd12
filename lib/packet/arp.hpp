// SPDX-License-Identifier: BSD-3-Clause
// ARP for IPv4 over Ethernet (RFC 826): validation of received messages, and the two messages that
// turnpike sends. IP addresses are in host order.
#pragma once

#include <cstdint>
#include <span>

#include "packet/drop_reason.hpp"
#include "packet/headers.hpp"

namespace turnpike::packet {

/// An untagged ARP frame without padding.
inline constexpr uint32_t arp_frame_bytes = sizeof(ethernet_header) + sizeof(arp_message);

/// message  at l2_bytes of a frame that parse() found to be complete ARP
/// ours     the receiving port's addresses: a sender that claims one is arp_sender_is_us (RFC 5227
///          section 2.4), and must not be learnt
/// Returns  the drop reason, or none; a sender address of 0 is a probe (RFC 5227 section 1.1):
///          valid, to be answered, nothing to learn
/// Threads  any. Errors none.
[[nodiscard]] drop_reason check_arp(const arp_message& message,
                                    std::span<const uint32_t> ours) noexcept;

/// A host's MAC and IP address.
struct arp_host {
    mac_address mac;
    uint32_t ip;
};

/// Write a request for `target`: broadcast; an announcement if the target is the sender (RFC 5227
/// section 2.3); to `unicast`, if given, to refresh an entry. Returns the bytes written:
/// arp_frame_bytes, or 0 if `frame` is too small.
uint32_t write_arp_request(std::span<uint8_t> frame, const arp_host& sender, uint32_t target,
                           const mac_address& unicast = broadcast_mac) noexcept;

/// Write a reply to the requesting host. `frame` may be the request itself. Returns as
/// write_arp_request.
uint32_t write_arp_reply(std::span<uint8_t> frame, const arp_host& sender,
                         const arp_host& target) noexcept;

}  // namespace turnpike::packet
