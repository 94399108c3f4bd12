// SPDX-License-Identifier: BSD-3-Clause
// Stage tx: enqueues packets on the TX queues of their ports. A burst with one egress interface is enqueued whole.
//   Reads   packet, out; port.state.link_up
//   Writes  the send queues
#include "datapath/graph.hpp"
#include "isa/simd/v128.hpp"

namespace turnpike::datapath {
namespace {

bool link_is_up(const context& c, uint16_t port) noexcept {
    const port_state* state = c.snapshot->port[port].state;
    return state != nullptr && state->link_up.load(std::memory_order_relaxed) &&
           c.tx[port].usable();
}

/// Whether all packets have the first one's egress interface. Four at a time (SSE4.2 is DPDK's
/// minimum).

bool go_one_way(const burst& b) noexcept {
    static_assert(sizeof(egress) == sizeof(uint32_t));
    const auto first = std::bit_cast<uint32_t>(b.out[0]);
    v128 differ = v128::set1(0);
    const size_t n = b.count;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) differ = differ | (v128::load_any(&b.out[i]) ^ v128::set1(first));
    uint32_t rest = 0;
    for (; i < n; ++i) rest |= std::bit_cast<uint32_t>(b.out[i]) ^ first;
    return rest == 0 && !v128::any(differ);
}

}  // namespace

stage_mask run_tx(context& c, burst& b, packet_mask packets) noexcept {
    const auto count_size = [&](uint32_t i) {
        c.counters[b.out[i].port].tx_sizes.add(b.packet[i]->pkt_len);
    };
    if (c.sampled) [[unlikely]]
        for_each(packets, count_size);
    packet_mask drops = 0;
    if (const uint16_t port = b.out[0].port;
        packets == all_of(b.count) && go_one_way(b) && link_is_up(c, port)) [[likely]] {
        c.tx[port].push(b.packet.data(), static_cast<uint16_t>(b.count), c.now);
        return 0;
    }
    for_each(packets, [&](uint32_t i) {
        const uint16_t port = b.out[i].port;
        if (!link_is_up(c, port)) [[unlikely]]
            return drop_packet(b, i, drop_reason::port_down, drops);
        c.tx[port].push(b.packet[i], c.now);
    });
    return move(b, drops, stage::drop);
}

}  // namespace turnpike::datapath
