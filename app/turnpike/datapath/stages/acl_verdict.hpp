// SPDX-License-Identifier: BSD-3-Clause
// ACL classification for stages other than acl_in and acl_out: ip_fast, bridge, flood.
#pragma once

#include "datapath/acl_list.hpp"
#include "datapath/burst.hpp"
#include "datapath/snapshot.hpp"

namespace turnpike::datapath {

/// Packets in neither mask are neither whole TCP nor UDP packets and were not classified.
struct acl_verdict {
    packet_mask permitted = 0, denied = 0;
};

/// Packets of stage ip_fast: a whole burst, or some packets of it, side by side.
struct fast_burst {
    rte_mbuf* const* packet;
    const uint32_t* single_segment_bytes;  ///< [count, rounded up to a multiple of 16]; burst's
    const uint16_t* tag;                   ///< TCI of `tagged` packets
    egress* out;
    uint32_t count;
    uint32_t min_bytes;  ///< no element of single_segment_bytes is lower; burst's
    packet_mask tagged;  ///< a tag was removed; the ACL's key has the VLAN ID of tag[]
};

/// frame     [i] Ethernet in one segment, untagged or with a tag that is in b.tag, followed by an IPv4 header without
///           options or an IPv6 header without extension headers
/// l3_bytes  [i] length of its IP packet, which is complete
/// Updates the list's counters for classified packets.
acl_verdict classify_fast_ipv4(const fast_burst& b, packet_mask packets, uint8_t* const* frame,
                               const uint32_t* l3_bytes, const bound_acl& by,
                               uint32_t worker) noexcept;
acl_verdict classify_fast_ipv6(const fast_burst& b, packet_mask packets, uint8_t* const* frame,
                               const uint32_t* l3_bytes, const bound_acl& by,
                               uint32_t worker) noexcept;

/// Classify frames as on the wire by the list of a mirror. Answers the permitted frames; a list of layer 3 permits no
/// frame that is neither IPv4 nor IPv6.
/// b  tag[] of `tagged` frames: tags that are not in the frame. Writes parsed
packet_mask classify_mirrored(burst& b, packet_mask packets, const bound_acl& by,
                              uint32_t worker) noexcept;

/// Classify by the egress ACLs of out[]. Answers the denied packets, with drop[] set.
/// Requires  parsed, where an interface has an ACL for IP packets
packet_mask classify_out(const snapshot& v, burst& b, packet_mask packets,
                         uint32_t worker) noexcept;

}  // namespace turnpike::datapath
