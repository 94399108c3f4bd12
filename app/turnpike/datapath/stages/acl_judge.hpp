// SPDX-License-Identifier: BSD-3-Clause
// What a list says of packets, for the stages that ask it beside acl_in and acl_out: plain, bridge, flood.
#pragma once

#include "datapath/acl_list.hpp"
#include "datapath/burst.hpp"
#include "datapath/view.hpp"

namespace turnpike::datapath {

/// Those not in either are no plain TCP or UDP: they were not asked about.
struct judged {
    packet_mask permitted = 0, denied = 0;
};

/// frame     [i] Ethernet in one segment, without a tag or with one that is in b.tag, and behind it an IPv4
///           header without options, or an IPv6 header without extensions
/// l3_bytes  [i] of its IP packet, all there
/// Counts what was asked about in the list's counters.
judged judge_plain_ipv4(burst& b, packet_mask packets, uint8_t* const* frame,
                        const uint32_t* l3_bytes, const bound_acl& by, uint32_t worker) noexcept;
judged judge_plain_ipv6(burst& b, packet_mask packets, uint8_t* const* frame,
                        const uint32_t* l3_bytes, const bound_acl& by, uint32_t worker) noexcept;

/// By the lists of the interfaces that they leave by. Answers those that are denied; drop[] says why.
/// Requires  parsed, where an interface has a list that judges IP packets
packet_mask judge_out(const view& v, burst& b, packet_mask packets, uint32_t worker) noexcept;

}  // namespace turnpike::datapath
