// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/capture.hpp"

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "counters/meter.hpp"
#include "datapath/vlan_tag.hpp"
#include "packet/headers.hpp"

namespace turnpike::datapath {
namespace {

constexpr uint32_t macs_bytes = 12, vlan_tag_bytes = 4;

constexpr size_t padded(size_t n) noexcept {
    return (n + capture_ring::alignment - 1) & ~(capture_ring::alignment - 1);
}

bool has_vlan(const uint8_t* frame, uint32_t n, uint16_t vlan) noexcept {
    if (n < macs_bytes + vlan_tag_bytes) return false;
    const auto type = load_be<uint16_t>(frame + macs_bytes);
    return packet::is_vlan_type(type) &&
           (load_be<uint16_t>(frame + macs_bytes + 2) & 0xfff) == vlan;
}

template <stage S, stage_function* Run>
stage_mask captured(context& c, burst& b, packet_mask packets) noexcept {
    copy_for_captures(c, b, S, packets);
    return Run(c, b, packets);
}

std::array<stage_row, stages> captured_stages() {
    std::array<stage_row, stages> all = stage_table;
    all[static_cast<size_t>(stage::rx)].run = captured<stage::rx, run_rx>;
    all[static_cast<size_t>(stage::tx)].run = captured<stage::tx, run_tx>;
    all[static_cast<size_t>(stage::drop)].run = captured<stage::drop, run_drop>;
    return all;
}

}  // namespace

const std::array<stage_row, stages> captured_table = captured_stages();

capture_ring::capture_ring(size_t bytes) : size_(bytes), bytes_(new uint8_t[bytes]) {}

/// A record does not wrap: an empty one fills the end of the memory.
capture_record* capture_ring::reserve(uint32_t kept) noexcept {
    const size_t wanted = padded(sizeof(capture_record) + kept);
    uint64_t head = next_;
    const uint64_t tail = tail_.load(std::memory_order_acquire);
    const size_t to_end = size_ - (head & (size_ - 1));
    const size_t skipped = to_end < wanted ? to_end : 0;
    if (size_ - (head - tail) < skipped + wanted) return nullptr;
    if (skipped != 0) {
        // At least its length fits: all lengths are multiples of the alignment.
        std::memset(at(head), 0, std::min(skipped, sizeof(capture_record)));
        head += skipped;
    }
    next_ = head + wanted;
    auto* const r = new (at(head)) capture_record;
    r->ring_bytes = static_cast<uint32_t>(wanted);
    return r;
}

const capture_record* capture_ring::front() const noexcept {
    for (;;) {
        const uint64_t tail = tail_.load(std::memory_order_relaxed);
        if (tail == head_.load(std::memory_order_acquire)) return nullptr;
        const size_t to_end = size_ - (tail & (size_ - 1));
        const auto* const r = reinterpret_cast<const capture_record*>(at(tail));
        if (to_end >= sizeof(capture_record) && r->ring_bytes != 0) return r;
        tail_.store(tail + to_end, std::memory_order_release);
    }
}

void capture_ring::pop() noexcept {
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    tail_.store(tail + reinterpret_cast<const capture_record*>(at(tail))->ring_bytes,
                std::memory_order_release);
}

capture::capture(capture_filter f, packet_mask ports, size_t producers)
    : filter_(std::move(f)), ports_(ports) {
    if (rte_mbuf_dyn_rx_timestamp_register(&timestamp_at_, &timestamp_flag_) != 0)
        timestamp_flag_ = 0;
    for (size_t i = 0; i < producers; ++i) rings_.push_back(std::make_unique<producer_state>());
}

bool capture::passes(const uint8_t* bytes, uint32_t n) const noexcept {
    if (filter_.vlan && !has_vlan(bytes, n, *filter_.vlan)) return false;
    return filter_.program.empty() || bpf_filter(filter_.program.data(), bytes, n, n) != 0;
}

void capture::record(size_t producer, const rte_mbuf* m, uint16_t port, uint64_t tsc,
                     capture_point at, drop_reason why, uint32_t tag, punt_reason punted) noexcept {
    if (producer >= rings_.size() || port >= max_ports || (ports() >> port & 1) == 0) return;
    producer_state& p = *rings_[producer];
    port_counts& counted = p.counted[port];
    counted.seen.add(1);
    if (at == capture_point::drop && filter_.why && *filter_.why != why) return;
    const uint32_t extra = tag != no_tag ? vlan_tag_bytes : 0;
    const uint32_t n = std::min<uint32_t>(m->pkt_len, max_frame_bytes - extra);
    const uint8_t* bytes = rte_pktmbuf_mtod(m, const uint8_t*);
    if (m->data_len < n || (tag != no_tag && n >= macs_bytes)) {
        const auto* const whole =
            static_cast<const uint8_t*>(rte_pktmbuf_read(m, 0, n, p.scratch.data() + extra));
        uint8_t* const to = p.scratch.data() + extra;
        if (whole != to) std::memcpy(to, whole, n);
        bytes = to;
        if (tag != no_tag && n >= macs_bytes) {
            std::memmove(p.scratch.data(), to, macs_bytes);
            store_be<uint32_t>(&p.scratch[macs_bytes], tag);
            bytes = p.scratch.data();
        }
    }
    const uint32_t put_back = bytes == p.scratch.data() ? extra : 0;
    if (!passes(bytes, n + put_back)) return;
    counted.accepted.add(1);
    const uint32_t kept = std::min(n + put_back, filter_.snaplen);
    capture_record* const r = p.ring.reserve(kept);
    if (r == nullptr) return counted.lost.add(1);
    r->tsc = tsc;
    r->stamped = (at == capture_point::in || at == capture_point::punt) &&
                 (m->ol_flags & timestamp_flag_) != 0;
    if (r->stamped)
        r->timestamp = *RTE_MBUF_DYNFIELD(m, timestamp_at_, const rte_mbuf_timestamp_t*);
    r->frame_bytes = m->pkt_len + put_back;
    r->kept = kept;
    r->port = port;
    r->point = at;
    r->why = why;
    r->punted = punted;
    std::memcpy(r->bytes(), bytes, kept);
    p.ring.commit();
}

capture::counts capture::counted(uint16_t port) const noexcept {
    counts sum;
    for (const auto& p : rings_) {
        sum.seen += p->counted[port].seen.read();
        sum.accepted += p->counted[port].accepted.read();
        sum.lost += p->counted[port].lost.read();
    }
    return sum;
}

void copy_for_captures(context& c, const burst& b, stage at, packet_mask packets) noexcept {
    const capture_point point = at == stage::rx   ? capture_point::in
                                : at == stage::tx ? capture_point::out
                                                  : capture_point::drop;
    const uint64_t now = counters::tsc();
    for (size_t k = 0; k < c.captured->count; ++k) {
        capture& to = *c.captured->on[k];
        if (!to.wants(point)) continue;
        for_each(packets, [&](uint32_t i) {
            if (point == capture_point::in)
                return to.record(producer_of(c.worker), b.packet[i], b.in_port, now, point);
            if (point == capture_point::out) {
                if (to.filter().control && !c.sends_own) return;
                const uint16_t port = b.out[i].port;
                const port_state* const state = c.snapshot->port[port].state;
                // Others are drops, under port_down.
                if (state != nullptr && state->link_up.load(std::memory_order_relaxed) &&
                    c.tx[port].usable())
                    to.record(producer_of(c.worker), b.packet[i], port, now, point);
                return;
            }
            to.record(producer_of(c.worker), b.packet[i], b.in_port, now, point, b.drop[i],
                      removed_tag(*c.snapshot, b, i));
        });
    }
}

void copy_punted(const context& c, const burst& b, uint32_t i) noexcept {
    const bool dropped = b.punt[i] == punt_reason::icmp_error || b.punt[i] == punt_reason::too_big;
    const uint64_t now = counters::tsc();
    for (size_t k = 0; k < c.captured->count; ++k)
        if (c.captured->on[k]->wants(capture_point::punt))
            c.captured->on[k]->record(producer_of(c.worker), b.packet[i], b.in_port, now,
                                      capture_point::punt, dropped ? b.drop[i] : drop_reason::none,
                                      removed_tag(*c.snapshot, b, i), b.punt[i]);
}

void copy_refused(const capture_tap& tap, size_t producer, uint16_t port, rte_mbuf* const* packets,
                  uint16_t n) noexcept {
    const uint64_t now = counters::tsc();
    for (size_t k = 0; k < tap.count; ++k)
        if (tap.on[k]->wants(capture_point::drop))
            for (uint16_t i = 0; i < n; ++i)
                tap.on[k]->record(producer, packets[i], port, now, capture_point::drop,
                                  drop_reason::tx_refused);
}

}  // namespace turnpike::datapath
