// SPDX-License-Identifier: BSD-3-Clause
#include "control/control_tx.hpp"

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <algorithm>

#include "datapath/sampler.hpp"
#include "packet/headers.hpp"

namespace turnpike::control {

using datapath::drop_reason;

rte_mbuf* control_tx::originate(uint16_t port, std::span<const uint8_t> frame) noexcept {
    rte_mbuf* const m = rte_pktmbuf_alloc(pool_);
    for (rte_mbuf* last = m; last != nullptr;) {
        const size_t here = std::min<size_t>(frame.size(), rte_pktmbuf_tailroom(last));
        std::copy_n(frame.begin(), here, rte_pktmbuf_mtod(last, uint8_t*));
        last->data_len = static_cast<uint16_t>(here);
        frame = frame.subspan(here);
        if (last != m) {
            m->pkt_len += last->data_len;
            ++m->nb_segs;
        } else {
            m->pkt_len = last->data_len;
        }
        if (frame.empty()) {
            datapath::punted_of(m) = {};
            counters_[port].originated.add(1);
            return m;
        }
        last = last->next = rte_pktmbuf_alloc(pool_);
    }
    rte_pktmbuf_free(m);
    return nullptr;
}

uint32_t control_tx::segment_bytes() const noexcept {
    return rte_pktmbuf_data_room_size(pool_) - uint32_t{RTE_PKTMBUF_HEADROOM};
}

void control_tx::originate_and_send(const datapath::egress& by, std::span<const uint8_t> frame,
                                    uint16_t domain) noexcept {
    if (rte_mbuf* m = originate(by.port, frame); m != nullptr) send(m, by, domain);
}

void control_tx::send(rte_mbuf* packet, const datapath::egress& by, uint16_t domain) noexcept {
    packet->port = by.port;
    datapath::punted_of(packet).out = by;
    datapath::punted_of(packet).domain = domain;
    rte_ring* ring = ring_of_(by);
    if (ring == nullptr || rte_ring_sp_enqueue(ring, packet) != 0)
        drop(packet, by.port, drop_reason::inject_ring_full);
}

void control_tx::send_by(rte_mbuf* packet, const datapath::next_hop& nexthop) noexcept {
    auto* frame = rte_pktmbuf_mtod(packet, uint8_t*);
    const bool v4 = frame[sizeof(packet::ethernet_header)] >> 4 == 4;
    nexthop.write(frame);
    packet::header_at<packet::ethernet_header>(frame).type =
        v4 ? packet::ether_type_ipv4 : packet::ether_type_ipv6;
    send(packet, nexthop.out);
}

void control_tx::drop(rte_mbuf* packet, uint16_t port, drop_reason why, uint32_t tag) noexcept {
    counters_[port].drop(why, packet->pkt_len);
    if (tap_ != nullptr)
        for (size_t k = 0; k < tap_->count; ++k)
            if (tap_->on[k]->wants(datapath::capture_point::drop))
                tap_->on[k]->record(datapath::control_producer, packet, port, rte_rdtsc(),
                                    datapath::capture_point::drop, why, tag);
    if (sampling_ != nullptr)
        sampling_->of_producer[datapath::control_producer]->sample_dropped(packet, port, why, tag,
                                                                           rte_rdtsc());
    if (trace_ != nullptr && trace_->wants(port)) {
        trace_->next().begin_drop(rte_rdtsc(), port, packet, why);
        trace_->end();
    }
    rte_pktmbuf_free(packet);
}

void control_tx::drop_received(uint16_t port, std::span<rte_mbuf* const> packets,
                               drop_reason why) noexcept {
    for (rte_mbuf* const m : packets) {
        counters_[port].rx_packets.add(1);
        counters_[port].rx_bytes.add(m->pkt_len);
        drop(m, port, why);
    }
}

void control_tx::consume(rte_mbuf* packet, uint16_t port) noexcept {
    counters_[port].consumed.add(1);
    rte_pktmbuf_free(packet);
}

void control_tx::reply_in_place(uint16_t port) noexcept {
    counters_[port].consumed.add(1);
    counters_[port].originated.add(1);
}

}  // namespace turnpike::control
