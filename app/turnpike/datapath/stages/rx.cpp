// SPDX-License-Identifier: BSD-3-Clause
// Stage rx: counts received packets, drops runts, and makes the Ethernet header contiguous. A tag that the driver stripped
// is put back into its frame: drivers are not asked to strip tags, and no later stage looks for it. Where a port sends packets
// of one buffer only, drivers may yet deliver several: ixgbe and igb use whole KiB of a buffer, and virtual devices do not
// hold their peers to the MTU.
//   Reads   packet, count, in_port; port.tag_type
//   Writes  single_segment_bytes, min_bytes, max_bytes, bytes; mbuf flags; the port's counters
#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "datapath/graph.hpp"
#include "datapath/pull_up.hpp"
#include "datapath/vlan_tag.hpp"
#include "isa/simd/v128.hpp"
#include "packet/headers.hpp"

namespace turnpike::datapath {

namespace {

constexpr uint32_t least_bytes = sizeof(packet::ethernet_header);

struct sizes {
    uint64_t bytes = 0;  ///< sum of frame lengths
    uint64_t flags = 0;  ///< the packets' ol_flags
};

/// Read lengths from mbufs, four at a time (SSE4.2 is DPDK's minimum).
inline __attribute__((always_inline)) sizes load_sizes(burst& b) noexcept {
    static_assert(offsetof(rte_mbuf, data_len) == offsetof(rte_mbuf, pkt_len) + 4 &&
                  offsetof(rte_mbuf, vlan_tci) == offsetof(rte_mbuf, pkt_len) + 6);
    const v128 low = v128::set1(0xffff);
    v128 sum = v128::set1(0), most = sum, least = v128::set1(INT32_MAX);
    uint64_t flags = 0;
    const size_t n = b.count;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        rte_mbuf* const* const four = &b.packet[i];
        for (unsigned k = 0; k < 4; ++k) flags |= four[k]->ol_flags;
        v128 whole, first;
        v128::split_pairs(v128::load_pair(&four[0]->pkt_len, &four[1]->pkt_len),
                          v128::load_pair(&four[2]->pkt_len, &four[3]->pkt_len), whole, first);
        const v128 bytes = whole & v128::equal<uint32_t>(whole, first & low);
        sum = sum + whole;
        most = v128::most(most, bytes);
        least = v128::least(least, bytes);
        v128::store(&b.single_segment_bytes[i], bytes);
    }
    std::array<uint32_t, 4> part;
    v128::store(part.data(), sum);
    sizes out{.bytes = uint64_t{part[0]} + part[1] + part[2] + part[3], .flags = flags};
    b.max_bytes = most.highest();
    b.min_bytes = least.lowest();
    for (; i < n; ++i) {
        const rte_mbuf* m = b.packet[i];
        out.bytes += m->pkt_len;
        out.flags |= m->ol_flags;
        const uint32_t bytes = m->data_len == m->pkt_len ? m->pkt_len : 0;
        b.single_segment_bytes[i] = bytes;
        b.max_bytes = std::max(b.max_bytes, bytes);
        b.min_bytes = std::min(b.min_bytes, bytes);
    }
    return out;
}

/// Flags of a receiving driver's mbuf that packets do not keep: those of transmission are another program's, by a ring or
/// by shared memory.
constexpr uint64_t settled_flags = RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_TX_OFFLOAD_MASK;

/// drops  packets whose tag has no room
__attribute__((noinline)) sizes settle(burst& b, uint16_t tag_type, packet_mask& drops) noexcept {
    settle_flags(b, tag_type);
    for_each(all_of(b.count), [&](uint32_t i) {
        if ((b.packet[i]->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0)
            drop_packet(b, i, drop_reason::stripped_tag_no_headroom, drops);
    });
    return load_sizes(b);
}

/// Checks each packet of a burst that has short frames, or some in several segments.
__attribute__((noinline)) void check_each(burst& b, packet_mask packets, bool one_buffer,
                                          packet_mask& drops) noexcept {
    for_each(packets, [&](uint32_t i) {
        rte_mbuf* const m = b.packet[i];
        if (m->pkt_len < least_bytes) return drop_packet(b, i, drop_reason::runt, drops);
        if (m->nb_segs == 1) return;
        if (!one_buffer) {
            if (!pull_up(m, least_bytes))
                drop_packet(b, i, drop_reason::ether_not_contiguous, drops);
            return;
        }
        if (!pull_up(m, m->pkt_len)) return drop_packet(b, i, drop_reason::frame_too_long, drops);
        trim(m, 0);  // without empty segments
        b.single_segment_bytes[i] = m->pkt_len;
        b.max_bytes = std::max(b.max_bytes, m->pkt_len);
    });
}

}  // namespace

void settle_flags(burst& b, uint16_t tag_type) noexcept {
    for (rte_mbuf* const m : std::span(b.packet).first(b.count)) {
        m->ol_flags &= ~RTE_MBUF_F_TX_OFFLOAD_MASK;
        if ((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) == 0) continue;
        const bool whole =
            m->data_len >= least_bytes || (m->pkt_len >= least_bytes && pull_up(m, least_bytes));
        if (!whole || vlan_push(m, uint32_t{tag_type} << 16 | m->vlan_tci))
            m->ol_flags &= ~(RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED);
    }
}

stage_mask run_rx(context& c, burst& b, packet_mask packets) noexcept {
    sizes all = load_sizes(b);
    packet_mask drops = 0;
    if ((all.flags & settled_flags) != 0) [[unlikely]]
        all = settle(b, c.snapshot->port[b.in_port].tag_type, drops);
    counters::port_counters& counted = c.counters[b.in_port];
    counted.rx_packets.add(b.count);
    counted.rx_bytes.add(all.bytes);
    b.bytes = all.bytes;
    if (c.sampled) [[unlikely]]
        for_each(packets, [&](uint32_t i) { counted.rx_sizes.add(b.packet[i]->pkt_len); });
    if (b.min_bytes < least_bytes) [[unlikely]]
        check_each(b, packets & ~drops, c.snapshot->one_buffer, drops);
    return enqueue(b, packets & ~drops, next_of_port(c.snapshot->port[b.in_port], stage::rx)) |
           enqueue(b, drops, stage::drop);
}

}  // namespace turnpike::datapath
