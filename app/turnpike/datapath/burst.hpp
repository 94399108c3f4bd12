// SPDX-License-Identifier: BSD-3-Clause
// The burst: what travels through the stages. One struct of arrays, index i is packet i, and a set of
// packets is a mask. Never zeroed: each stage writes what its header says.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <bit>
#include <cstdint>

#include "datapath/next_hop.hpp"
#include "packet/drop_reason.hpp"
#include "packet/parse.hpp"

namespace turnpike::datapath {

inline constexpr uint32_t burst_max = 32;
using packet_mask = uint32_t;  ///< bit i is packet i
using stage_mask = uint32_t;   ///< bit s is stage s

constexpr packet_mask all_of(uint32_t count) noexcept {
    return count >= burst_max ? ~packet_mask{0} : (packet_mask{1} << count) - 1;
}

/// What control is asked to do with a punted packet.
enum class punt_reason : uint8_t {
    arp,         ///< a whole ARP message
    nd,          ///< neighbour discovery
    local,       ///< another packet for one of our addresses or groups
    resolve,     ///< ready to be sent but for the MAC address of its neighbour
    icmp_error,  ///< dropped under its reason; its sender is to be told
    reserved,    ///< to a group address that bridges do not forward (IEEE 802.1Q-2018 table 8-1)
    redirect,  ///< a copy of what left by the interface that it came in by: its sender may know better
    router_alert,  ///< on its way to somebody else, and asks routers to look at it (RFC 2113, RFC 2711)
    too_big,  ///< dropped: more than its tunnel takes; its sender is to be told, as the other end would
    neigh_suppress,  ///< a copy of ARP or neighbour discovery that a bridge with neigh_suppress heard
    count_
};

/// Call f(i) for each packet of a mask; where that is the whole burst, in a loop without a test.
template <class F>
inline __attribute__((always_inline)) void for_each(packet_mask packets, const F& f) noexcept {
    if ((packets & (packets + 1)) == 0) {  // the first ones, no gap
        const auto n = static_cast<uint32_t>(std::popcount(packets));
        for (uint32_t i = 0; i < n; ++i) f(i);
        return;
    }
    for (; packets != 0; packets &= packets - 1)
        f(static_cast<uint32_t>(std::countr_zero(packets)));
}

struct burst {
    /// A new burst of `n` packets from a port; its masks are empty, as walk() leaves them.
    void begin(uint32_t n, uint16_t port) noexcept {
        punted = tagged = tag_in_frame = longer = routed = spared = 0;
        count = n;
        in_port = port;
        pass = 1;
        outer = 0;
    }

    /// For each stage the packets that are to go through it; 0 outside of walk().
    std::array<packet_mask, 32> at{};
    packet_mask again = 0;   ///< to go through the stages once more: by in[], or by lookup (outer)
    packet_mask punted = 0;  ///< whose way ends in control: lists judge them like others, then punt
    /// To a group of tunnels' endpoints: lists judge them like others, then decap. From stage parse to there.
    packet_mask tunnelled = 0;
    packet_mask tagged = 0;  ///< whose tag was taken off, or is known: tag[] holds
    packet_mask tag_in_frame =
        0;                   ///< of those, where it was not taken off: on the way through a bridge
    packet_mask longer = 0;  ///< than their way out takes: to be fragmented
    packet_mask spared =
        0;  ///< behind stage bridge, of what is flooded: not for members with neigh_suppress
    packet_mask routed = 0;  ///< came into a bridge by its routing interface, which in[] is
    uint32_t count = 0;
    uint16_t in_port = 0;
    uint64_t bytes = 0;     ///< of all, as they came in by their interfaces; 0: not known
    uint16_t in_all = 0;    ///< the interface of all packets; 0: they have different ones
    uint16_t pass = 1;      ///< more behind a tunnel's end, or in a bridge that routes
    packet_mask outer = 0;  ///< are tunnels' packets of ours: nobody is told what becomes of them

    std::array<rte_mbuf*, burst_max> packet;
    /// As it was received: bytes of a frame that lies in one segment; 0: it lies in several.
    alignas(16) std::array<uint32_t, burst_max> in_one;
    std::array<uint16_t, burst_max> in;               ///< interface
    std::array<uint16_t, burst_max> tag;              ///< where tagged: priority and identifier
    std::array<uint16_t, burst_max> domain;           ///< where it was bridged
    std::array<uint32_t, burst_max> hop;              ///< index; where lookup found one
    std::array<way_out, burst_max> out;               ///< where it is sent, or punted to resolve
    std::array<packet::drop_reason, burst_max> drop;  ///< where it is dropped, or punted to report
    std::array<punt_reason, burst_max> punt;          ///< where it is punted
    std::array<packet::parsed, burst_max> parsed;     ///< where it was parsed
};

/// What travels with a punted packet, and with what control sends, in the mbuf's private area.
struct punted {
    packet::parsed parsed{};
    uint32_t hop = 0;
    uint16_t in_interface = 0, in_port = 0;
    way_out out{};
    uint16_t domain = 0;  ///< of a bridge, where it was heard there, or is sent there; else 0
    punt_reason why = punt_reason::local;
    packet::drop_reason drop = packet::drop_reason::none;
};

/// The private area of turnpike's mbufs. Whole lines: the buffer follows it, and a frame that starts
/// within a line costs one more line of PCIe each way.
inline constexpr uint16_t mbuf_private_bytes = RTE_ALIGN(sizeof(punted), RTE_CACHE_LINE_SIZE);

inline punted& punted_of(rte_mbuf* m) noexcept {
    return *static_cast<punted*>(rte_mbuf_to_priv(m));
}

}  // namespace turnpike::datapath
