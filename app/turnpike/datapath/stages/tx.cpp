// SPDX-License-Identifier: BSD-3-Clause
// Stage tx: enqueues packets on the TX queues of their ports. A burst with one egress interface is enqueued whole.
//   Reads   packet, out; port.state.link_up
//   Writes  the send queues
#include "datapath/all_equal.hpp"
#include "datapath/graph.hpp"
#include "isa/simd/v128.hpp"

namespace turnpike::datapath {
namespace {

bool link_is_up(const context& c, uint16_t port) noexcept {
    const port_state* state = c.snapshot->port[port].state;
    return state != nullptr && state->link_up.load(std::memory_order_relaxed) &&
           c.tx[port].usable();
}

static_assert(offsetof(egress, port) == 0);
constexpr uint32_t port_mask = 0xffff;  ///< of an egress

/// Packets of the mask that leave by a port, four at a time.
packet_mask that_leave_by(const burst& b, packet_mask packets, uint16_t port) noexcept {
    const v128 ports = v128::set1(port_mask), wanted = v128::set1(port);
    const uint32_t n = b.count;
    packet_mask same = 0;
    for (uint32_t i = 0; i < n; i += 4)  // elements behind the last are arbitrary
        same |= v128::sign_bits(v128::equal<uint32_t>(v128::load_any(&b.out[i]) & ports, wanted))
                << i;
    return same & packets;
}

/// The first one's port takes its packets together: most bursts that do not leave whole leave nearly whole.
__attribute__((noinline)) stage_mask push_some(context& c, burst& b, packet_mask packets) noexcept {
    const uint16_t first = b.out[static_cast<size_t>(std::countr_zero(packets))].port;
    if (link_is_up(c, first)) [[likely]] {
        const packet_mask same = that_leave_by(b, packets, first);
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

}  // namespace

stage_mask run_tx(context& c, burst& b, packet_mask packets) noexcept {
    if (c.sampled) [[unlikely]]
        for_each(packets,
                 [&](uint32_t i) { c.counters[b.out[i].port].tx_sizes.add(b.packet[i]->pkt_len); });
    if (packets != all_of(b.count)) return push_some(c, b, packets);
    if (const uint16_t port = b.out[0].port;
        all_equal(b.out, b.count, port_mask) && link_is_up(c, port)) [[likely]] {
        c.tx[port].push(b.packet.data(), static_cast<uint16_t>(b.count), c.now);
        return 0;
    }
    return push_some(c, b, packets);
}

}  // namespace turnpike::datapath
