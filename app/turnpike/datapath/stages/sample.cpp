// SPDX-License-Identifier: BSD-3-Clause
// Stage sample: copies the headers of one received packet of n for sFlow. Only frames of sampled ports come here.
//   Reads   packet, in_port; port.{in_front, tag_type}, snapshot.sampling
//   Writes  the worker's sampler
#include <rte_mbuf.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "datapath/graph.hpp"
#include "datapath/sampler.hpp"
#include "packet/headers.hpp"

namespace turnpike::datapath {

uint32_t sampler::next_gap() noexcept {
    if (limits_.one_in <= 1) return 1;
    // xorshift64: Marsaglia, "Xorshift RNGs", 2003.
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    const uint64_t range = 2 * uint64_t{limits_.one_in} - 1;
    return static_cast<uint32_t>(1 + ((random_ >> 32) * range >> 32));
}

void sampler::take_received(const burst& b, packet_mask packets, uint16_t tag_type,
                            uint64_t now) noexcept {
    const auto n = static_cast<uint32_t>(std::popcount(packets));
    pool_[b.in_port].add(n);
    uint32_t& left = left_[b.in_port];
    if (left > n) [[likely]] {
        left -= n;
        return;
    }
    for_each(packets, [&](uint32_t i) {
        if (--left != 0) return;
        left = next_gap();
        const rte_mbuf* const m = b.packet[i];
        const uint32_t tag = (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0
                                 ? uint32_t{tag_type} << 16 | m->vlan_tci
                                 : 0;
        if (!put(m, b.in_port, now, capture_point::in, drop_reason::none, tag)) lost_.add(1);
    });
}

bool sampler::may_notify(uint64_t now) noexcept {
    if (now - second_begun_ >= limits_.tsc_hz) {
        second_begun_ = now;
        notified_ = 0;
    }
    return notified_ < limits_.drops_per_s;
}

void sampler::take_dropped(const burst& b, packet_mask packets, uint64_t now) noexcept {
    if (limits_.drops_per_s == 0) return;
    for_each(packets, [&](uint32_t i) {
        const bool removed = ((b.tagged & ~b.tag_in_frame) >> i & 1) != 0;
        const uint32_t tag = removed ? uint32_t{packet::ether_type_vlan} << 16 | b.tag[i] : 0;
        take_dropped(b.packet[i], b.in_port, b.drop[i], tag, now);
    });
}

void sampler::take_dropped(const rte_mbuf* m, uint16_t port, drop_reason why, uint32_t tag,
                           uint64_t now) noexcept {
    if (limits_.drops_per_s == 0) return;
    if (may_notify(now) && put(m, port, now, capture_point::drop, why, tag))
        ++notified_;
    else
        lost_drops_.add(1);
}

/// tag  TPID and TCI of a tag behind the MAC addresses that is not in the frame; 0: none
bool sampler::put(const rte_mbuf* m, uint16_t port, uint64_t now, capture_point at, drop_reason why,
                  uint32_t tag) noexcept {
    constexpr uint32_t macs_bytes = 2 * sizeof(mac_address);
    const uint32_t in_frame = std::min<uint32_t>(m->pkt_len, limits_.header_bytes);
    const uint32_t tag_bytes = tag != 0 && in_frame >= macs_bytes ? sizeof(packet::vlan_tag) : 0;
    const uint32_t kept = std::min(in_frame + tag_bytes, limits_.header_bytes);
    capture_record* const r = ring_.reserve(in_frame + tag_bytes);
    if (r == nullptr) return false;
    uint8_t* const to = r->bytes();
    const void* const from = rte_pktmbuf_read(m, 0, in_frame, to);
    if (from != to) std::memcpy(to, from, in_frame);
    if (tag_bytes != 0) {
        std::memmove(to + macs_bytes + tag_bytes, to + macs_bytes, in_frame - macs_bytes);
        store_be<uint32_t>(to + macs_bytes, tag);
    }
    r->tsc = now;
    r->frame_bytes = m->pkt_len + tag_bytes;
    r->kept = kept;
    r->port = port;
    r->point = at;
    r->why = why;
    ring_.commit();
    return true;
}

stage_mask run_sample(context& c, burst& b, packet_mask packets) noexcept {
    const port_snapshot& port = c.snapshot->port[b.in_port];
    if (c.snapshot->sampling != nullptr) [[likely]]
        c.snapshot->sampling->of_producer[producer_of(c.worker)]->take_received(
            b, packets, port.tag_type, c.now);
    return enqueue(b, packets, next_of_port(port, stage::sample));
}

}  // namespace turnpike::datapath
