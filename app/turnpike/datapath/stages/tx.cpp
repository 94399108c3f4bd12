// SPDX-License-Identifier: BSD-3-Clause
// Stage tx: enqueues packets on the TX queues of their ports. A burst with one egress interface is enqueued whole.
//   Reads   packet, out, min_bytes; min_tx_bytes, port.state.link_up
//   Writes  the send queues; the end of short frames
#include <rte_mbuf.h>

#include <cstring>

#include "datapath/all_equal.hpp"
#include "datapath/graph.hpp"
#include "datapath/sampler.hpp"
#include "packet/headers.hpp"

namespace turnpike::datapath {
namespace {

/// That frames may be shorter than burst::min_bytes: tags were removed.
constexpr uint32_t removed_bytes = 2 * sizeof(packet::vlan_tag);

/// Looks at the frames' lengths: behind a tunnel's end burst::min_bytes is not known.
bool some_shorter(const burst& b, uint32_t bytes) noexcept {
    uint32_t differences = 0;  // the highest bit: one is negative
#pragma GCC unroll 4
    for (uint32_t i = 0; i < b.count; ++i) differences |= b.packet[i]->pkt_len - bytes;
    return differences >> 31 != 0;
}

/// Pads frames that some NIC could not send. Only virtual devices and tunnels bring them.
__attribute__((noinline)) void pad(const burst& b, packet_mask packets, uint32_t bytes) noexcept {
    if (packets == all_of(b.count) && !some_shorter(b, bytes)) [[likely]]
        return;
    for_each(packets, [&](uint32_t i) {
        rte_mbuf* const m = b.packet[i];
        if (m->pkt_len >= bytes) [[likely]]
            return;
        const auto missing = static_cast<uint16_t>(bytes - m->pkt_len);
        // null only in another program's buffer, by a ring: a buffer of our pool has room
        if (char* const end = rte_pktmbuf_append(m, missing); end != nullptr)
            std::memset(end, 0, missing);
    });
}

bool link_is_up(const context& c, uint16_t port) noexcept {
    const port_state* state = c.snapshot->port[port].state;
    return state != nullptr && state->link_up.load(std::memory_order_relaxed) &&
           c.tx[port].usable();
}

/// The first one's port takes its packets together: most bursts that do not leave whole leave nearly whole.
__attribute__((noinline)) stage_mask push_some(context& c, burst& b, packet_mask packets) noexcept {
    const egress out = b.out[static_cast<size_t>(std::countr_zero(packets))];
    const uint16_t first = out.port;
    if (link_is_up(c, first)) [[likely]] {
        const packet_mask same = with_egress(b, packets, out, egress_port);
        std::array<rte_mbuf*, burst_max> together;
        uint16_t n = 0;
        for_each(same, [&](uint32_t i) { together[n++] = b.packet[i]; });
        c.tx[first].push(together.data(), n, c.now);
        packets &= ~same;
    }
    packet_mask drops = 0;
    for_each(packets, [&](uint32_t i) {
        const uint16_t port = b.out[i].port;
        if (!link_is_up(c, port)) [[unlikely]]
            return drop_packet(b, i, drop_reason::port_down, drops);
        c.tx[port].push(b.packet[i], c.now);
    });
    return enqueue(b, drops, stage::drop);
}

__attribute__((noinline)) void note_sizes_and_samples(context& c, const burst& b,
                                                      packet_mask packets) noexcept {
    if (c.sampled)
        for_each(packets,
                 [&](uint32_t i) { c.counters[b.out[i].port].tx_sizes.add(b.packet[i]->pkt_len); });
    if (c.awaiting == nullptr) return;
    packet_mask sent = 0;
    for_each(packets, [&](uint32_t i) { sent |= packet_mask{link_is_up(c, b.out[i].port)} << i; });
    c.awaiting->end_sent(b, sent);
}

}  // namespace

stage_mask run_tx(context& c, burst& b, packet_mask packets) noexcept {
    if (const uint32_t least = c.snapshot->min_tx_bytes;
        least != 0 && b.min_bytes < least + removed_bytes) [[unlikely]]
        pad(b, packets, least);
    if (c.sampled || c.awaiting != nullptr) [[unlikely]]
        note_sizes_and_samples(c, b, packets);
    if (packets != all_of(b.count)) return push_some(c, b, packets);
    if (const uint16_t port = b.out[0].port;
        all_equal(b.out, b.count, egress_port) && link_is_up(c, port)) [[likely]] {
        c.tx[port].push(b.packet.data(), static_cast<uint16_t>(b.count), c.now);
        return 0;
    }
    return push_some(c, b, packets);
}

}  // namespace turnpike::datapath
