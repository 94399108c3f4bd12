// SPDX-License-Identifier: BSD-3-Clause
// The burst: what travels through the stages. One struct of arrays, index i is packet i.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>

#include "datapath/next_hop.hpp"
#include "packet/drop_reason.hpp"
#include "packet/parse.hpp"

namespace turnpike::datapath {

inline constexpr uint32_t burst_max = 32;
inline constexpr uint16_t max_ports = 32;

/// Where a packet goes after the stages. open: not decided yet, the next stage may.
enum class fate : uint8_t { open, send, drop, punt };

/// What control is asked to do with a punted packet.
enum class punt_reason : uint8_t {
    arp,      ///< a whole ARP message
    nd,       ///< neighbour discovery
    local,    ///< another packet for one of our addresses or groups
    resolve,  ///< ready to be sent but for the MAC address of its neighbour
    report,   ///< dropped under its reason; its sender is to be told
};

/// rx sets packet, count and in_port; each later stage fills what its header says it writes.
struct burst {
    std::array<rte_mbuf*, burst_max> packet;
    std::array<enum fate, burst_max> fate;
    std::array<packet::drop_reason, burst_max> drop;  ///< where fate is drop, or punt to report
    std::array<punt_reason, burst_max> punt;          ///< where fate is punt
    std::array<uint16_t, burst_max> out_port;         ///< where fate is send, or punt to resolve
    std::array<next_hop, burst_max> hop;              ///< where lookup found one
    std::array<packet::parsed, burst_max> parsed;     ///< routed ports only
    uint32_t count = 0;
    uint16_t in_port = 0;

    void drop_packet(uint32_t i, packet::drop_reason why) noexcept {
        fate[i] = fate::drop;
        drop[i] = why;
    }
    void punt_packet(uint32_t i, punt_reason why) noexcept {
        fate[i] = fate::punt;
        punt[i] = why;
    }
    /// Drop it and let its sender know.
    void report_packet(uint32_t i, packet::drop_reason why) noexcept {
        punt_packet(i, punt_reason::report);
        drop[i] = why;
    }
};

/// What travels with a punted packet, in the mbuf's private area.
struct punted {
    packet::parsed parsed{};
    next_hop hop{};
    uint16_t in_port = 0, out_port = 0;
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
