// SPDX-License-Identifier: BSD-3-Clause
// Stages count_in and count_out: count the packets of interfaces that share their ports, as received behind the interface's
// VLAN tag, and as sent in front of it. Only the paths of such interfaces have them, and only with `interface_counters`.
//   Reads   packet, in, common_iface, out; snapshot.interface_counts
//   Writes  the worker's interface_counters
#include <rte_mbuf.h>

#include "datapath/graph.hpp"
#include "datapath/interface_counters.hpp"

namespace turnpike::datapath {
namespace {

/// Adds to the counters of runs of packets of one interface: most bursts are one.
template <class InterfaceOf, class BytesOf, class Add>
void count_by_interface(packet_mask packets, const InterfaceOf& interface_of,
                        const BytesOf& bytes_of, const Add& add) noexcept {
    uint16_t ifindex = 0;
    uint64_t n = 0, bytes = 0;
    for_each(packets, [&](uint32_t i) {
        if (const uint16_t now = interface_of(i); now != ifindex) {
            if (n != 0) add(ifindex, n, bytes);
            ifindex = now;
            n = bytes = 0;
        }
        ++n;
        bytes += bytes_of(i);
    });
    if (n != 0) add(ifindex, n, bytes);
}

[[nodiscard]] interface_counters* counters_of(const context& c) noexcept {
    return c.snapshot->interface_counts + size_t{c.worker} * max_interfaces;
}

template <class BytesOf>
void count_sent(const context& c, const burst& b, packet_mask packets,
                const BytesOf& bytes_of) noexcept {
    interface_counters* const all = counters_of(c);
    count_by_interface(
        packets, [&](uint32_t i) { return b.out[i].interface; }, bytes_of,
        [&](uint16_t ifindex, uint64_t n, uint64_t bytes) {
            if ((c.snapshot->paths[ifindex].output & bit(stage::count_out)) == 0) return;
            all[ifindex].tx_packets.add(n);
            all[ifindex].tx_bytes.add(bytes);
        });
}

}  // namespace

void count_sent_tagged(const context& c, const burst& b, packet_mask packets) noexcept {
    count_sent(c, b, packets,
               [&](uint32_t i) { return b.packet[i]->pkt_len - sizeof(packet::vlan_tag); });
}

stage_mask run_count_in(context& c, burst& b, packet_mask packets) noexcept {
    interface_counters* const all = counters_of(c);
    count_by_interface(
        packets, [&](uint32_t i) { return b.in[i]; },
        [&](uint32_t i) {
            const bool tagged = (b.tag_in_frame >> i & 1) != 0;
            return b.packet[i]->pkt_len - (tagged ? sizeof(packet::vlan_tag) : 0);
        },
        [&](uint16_t ifindex, uint64_t n, uint64_t bytes) {
            all[ifindex].rx_packets.add(n);
            all[ifindex].rx_bytes.add(bytes);
        });
    const snapshot& v = *c.snapshot;
    // The fast paths read the whole burst.
    const stage_mask fast =
        packets == all_of(b.count) ? stage_mask{0} : bit(stage::vxlan_fast) | bit(stage::ip_fast);
    if (b.common_iface != 0)
        return enqueue(b, packets, next_of(v.paths[b.common_iface].input & ~fast, stage::count_in));
    return go_on(b, packets, stage::count_in,
                 [&](uint32_t i) { return v.paths[b.in[i]].input & ~fast; });
}

stage_mask run_count_out(context& c, burst& b, packet_mask packets) noexcept {
    count_sent(c, b, packets, [&](uint32_t i) { return b.packet[i]->pkt_len; });
    return go_on_output(*c.snapshot, b, packets, stage::count_out);
}

}  // namespace turnpike::datapath
