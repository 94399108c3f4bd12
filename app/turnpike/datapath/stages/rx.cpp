// SPDX-License-Identifier: BSD-3-Clause
// Stage rx: counts received packets, drops runts, and makes the Ethernet header contiguous.
//   Reads   packet, count, in_port
//   Writes  single_segment_bytes, bytes; the port's counters
#include <rte_mbuf.h>

#include <array>

#include "datapath/graph.hpp"
#include "datapath/pull_up.hpp"
#include "isa/simd/v128.hpp"
#include "packet/headers.hpp"

namespace turnpike::datapath {

namespace {

constexpr uint32_t least_bytes = sizeof(packet::ethernet_header);

struct sizes {
    uint64_t bytes = 0;        ///< sum of frame lengths
    bool short_first = false;  ///< some first segments are shorter than an Ethernet header
};

/// Read lengths from mbufs, four at a time (SSE4.2 is DPDK's minimum).
sizes load_sizes(burst& b) noexcept {
    static_assert(offsetof(rte_mbuf, pkt_len) == offsetof(rte_mbuf, rx_descriptor_fields1) + 4 &&
                  offsetof(rte_mbuf, data_len) == offsetof(rte_mbuf, rx_descriptor_fields1) + 8);
    const v128 least = v128::set1(least_bytes), low = v128::set1(0xffff);
    v128 sum = v128::set1(0), short_first = sum;
    const size_t n = b.count;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        v128 says[4];
        rte_mbuf* const* const four = &b.packet[i];
        v128::columns_of([&](unsigned k) { return &four[k]->rx_descriptor_fields1; }, says);
        const v128 whole = says[1], first = says[2] & low;
        sum = sum + whole;
        short_first = short_first | v128::greater(least, first);
        v128::store(&b.single_segment_bytes[i], whole & v128::equal<uint32_t>(whole, first));
    }
    std::array<uint32_t, 4> part;
    v128::store(part.data(), sum);
    sizes out{.bytes = uint64_t{part[0]} + part[1] + part[2] + part[3],
              .short_first = v128::any(short_first)};
    for (; i < n; ++i) {
        const rte_mbuf* m = b.packet[i];
        out.bytes += m->pkt_len;
        out.short_first |= m->data_len < least_bytes;
        b.single_segment_bytes[i] = m->data_len == m->pkt_len ? m->pkt_len : 0;
    }
    return out;
}

}  // namespace

stage_mask run_rx(context& c, burst& b, packet_mask packets) noexcept {
    const sizes all = load_sizes(b);
    counters::port_counters& counted = c.counters[b.in_port];
    counted.rx_packets.add(b.count);
    counted.rx_bytes.add(all.bytes);
    b.bytes = all.bytes;
    if (c.sampled) [[unlikely]]
        for_each(packets, [&](uint32_t i) { counted.rx_sizes.add(b.packet[i]->pkt_len); });
    packet_mask drops = 0;
    if (all.short_first) [[unlikely]]
        for_each(packets, [&](uint32_t i) {
            rte_mbuf* const m = b.packet[i];
            if (m->pkt_len < least_bytes)
                drop_packet(b, i, drop_reason::runt, drops);
            else if (m->data_len < least_bytes && !pull_up(m, least_bytes))
                drop_packet(b, i, drop_reason::ether_not_contiguous, drops);
        });
    return enqueue(b, packets & ~drops, next_of_port(c.snapshot->port[b.in_port], stage::rx)) |
           enqueue(b, drops, stage::drop);
}

}  // namespace turnpike::datapath
