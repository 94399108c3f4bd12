// SPDX-License-Identifier: BSD-3-Clause
// The burst: up to 32 packets that pass through the stages together. A struct of arrays: index i is
// packet i, and a set of packets is a mask. The arrays are not initialised: an element is valid only
// after a stage that lists it under "Writes" has run for that packet.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <bit>
#include <cstdint>

#include "datapath/drop_reason.hpp"
#include "datapath/next_hop.hpp"
#include "datapath/paths.hpp"
#include "datapath/punt_class.hpp"
#include "datapath/punt_reason.hpp"
#include "packet/parse.hpp"

namespace turnpike::datapath {

inline constexpr uint32_t burst_max = 32;
using packet_mask = uint32_t;  ///< bit i is packet i

constexpr packet_mask all_of(uint32_t count) noexcept {
    return count >= burst_max ? ~packet_mask{0} : (packet_mask{1} << count) - 1;
}

/// Call f(i) for each packet of a mask; a mask without gaps takes a loop without a bit scan.
template <class F>
inline __attribute__((always_inline)) void for_each(packet_mask packets, const F& f) noexcept {
    if ((packets & (packets + 1)) == 0) {  // no gap
        const auto n = static_cast<uint32_t>(std::popcount(packets));
        for (uint32_t i = 0; i < n; ++i) f(i);
        return;
    }
    for (; packets != 0; packets &= packets - 1)
        f(static_cast<uint32_t>(std::countr_zero(packets)));
}

struct burst {
    /// Start a burst of `n` packets from a port; dispatch() leaves the stage masks empty.
    void begin(uint32_t n, uint16_t port) noexcept {
        punted = vxlan_to_us = tagged = tag_in_frame = exceeds_mtu = from_irb = suppressed = 0;
        count = n;
        in_port = port;
        recirculations = 0;
        outer = 0;
        copies = false;
        forget_lengths();
    }
    /// For stages that write single_segment_bytes, unless they keep within the limits.
    void forget_lengths() noexcept {
        min_bytes = 0;
        max_bytes = UINT32_MAX;
    }

    /// Packets that wait for each stage, by stage; all 0 outside of dispatch().
    std::array<packet_mask, 32> at{};
    /// recirculated: enter the graph again at stage iface_input by in[], or at lookup (outer)
    packet_mask recirculated = 0;
    packet_mask punted = 0;  ///< end in stage punt; ACLs apply first
    /// VXLAN packets to a multicast group of a VTEP: ACLs apply first, then vxlan_input. Set by stage
    /// ip_input.
    packet_mask vxlan_to_us = 0;
    /// have a VLAN tag, in tag[]: it was removed, or only read (tag_in_frame)
    packet_mask tagged = 0;
    /// subset of `tagged`: the tag is still in the frame, on its way through a bridge
    packet_mask tag_in_frame = 0;
    packet_mask exceeds_mtu = 0;  ///< exceed their MTU, mtu[]: stage fragment takes them
    /// set by stage bridge: flooded, but not to members with neigh_suppress
    packet_mask suppressed = 0;
    packet_mask from_irb = 0;  ///< entered a bridge by its routing interface, which is in[]
    uint32_t count = 0;
    uint16_t in_port = 0;
    uint64_t bytes = 0;  ///< sum of frame lengths as received by their interfaces; 0: unknown
    /// Limits of single_segment_bytes of all packets, by stage rx: what they exclude no stage needs to look for.
    uint32_t min_bytes = 0, max_bytes = UINT32_MAX;
    uint16_t common_iface = 0;  ///< ingress interface of all packets; 0: they have several
    /// behind a tunnel's end, or in a bridge that routes
    uint16_t recirculations = 0;
    bool copies = false;  ///< mirrored frames on their way to a remote address: not mirrored again
    packet_mask outer =
        0;  ///< tunnel packets that were made here: errors about them go to no source

    std::array<rte_mbuf*, burst_max> packet;
    /// Length of the frame as received, where it is in one segment; 0: several segments.
    alignas(16) std::array<uint32_t, burst_max> single_segment_bytes;
    std::array<uint16_t, burst_max> in;      ///< ingress interface: index into snapshot::interfaces
    std::array<uint16_t, burst_max> tag;     ///< of `tagged`: TCI (PCP, DEI, VID)
    std::array<uint16_t, burst_max> domain;  ///< broadcast domain; valid behind stage bridge
    std::array<uint32_t, burst_max> nexthop;  ///< index of the next hop; valid behind stage lookup
    /// MTU of the egress interface or of the route; valid behind stage ip_forward, and for `exceeds_mtu`
    std::array<uint16_t, burst_max> mtu;
    /// egress port and interface; valid for packets to send or to resolve
    std::array<egress, burst_max> out;
    /// valid for packets to drop, and to punt as icmp_error
    std::array<drop_reason, burst_max> drop;
    std::array<punt_reason, burst_max> punt;       ///< valid for packets to punt
    std::array<packet::parsed, burst_max> parsed;  ///< valid behind stage ip_input
};

/// Metadata in the private area of an mbuf between worker and control. Stage punt writes it for
/// punted packets, control for packets that it sends.
struct punted {
    packet::parsed parsed{};
    uint32_t nexthop = 0;
    uint32_t tag = 0;  ///< removed_tag() of the received frame
    uint16_t in_interface = 0, in_port = 0;
    egress out{};
    /// broadcast domain, where the packet arrived at a bridge or leaves by one; else 0
    uint16_t domain = 0;
    /// of a packet that waits for its neighbour, or that exceeds it; 0: the egress interface's
    uint16_t mtu = 0;
    bool copy = false;  ///< of a burst of copies: a mirrored frame
    punt_reason why = punt_reason::local;
    drop_reason drop = drop_reason::none;
    punt_class of = punt_class::local;
};

static_assert(sizeof(punted) <= RTE_CACHE_LINE_SIZE);

/// Private area of turnpike's mbufs, a multiple of the cache line size: the data buffer follows it,
/// and a frame that does not start at a cache line costs one more line of PCIe per direction.
inline constexpr uint16_t mbuf_private_bytes = RTE_ALIGN(sizeof(punted), RTE_CACHE_LINE_SIZE);

inline punted& punted_of(rte_mbuf* m) noexcept {
    return *static_cast<punted*>(rte_mbuf_to_priv(m));
}

}  // namespace turnpike::datapath
