// SPDX-License-Identifier: BSD-3-Clause
// Stages sample_in and sample_out: copy the headers of one packet of n for sFlow, as received, or as sent. Only frames of
// sampled ports come here.
//   Reads   packet, in_port, out; port.{in_front, state}, snapshot.sampling, context.sends_own
//   Writes  the worker's sampler, context.awaiting
#include <rte_mbuf.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "datapath/graph.hpp"
#include "datapath/sampler.hpp"
#include "datapath/vlan_tag.hpp"
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

packet_mask sampler::choose(packet_mask packets, uint16_t port) noexcept {
    const auto n = static_cast<uint32_t>(std::popcount(packets));
    pool_[port].add(n);
    uint32_t& left = left_[port];
    if (left > n) [[likely]] {
        left -= n;
        return 0;
    }
    packet_mask chosen = 0;
    for_each(packets, [&](uint32_t i) {
        if (--left != 0) return;
        left = next_gap();
        chosen |= packet_mask{1} << i;
    });
    return chosen;
}

bool sampler::sample_received(const burst& b, packet_mask packets, uint64_t now) noexcept {
    for_each(choose(packets, b.in_port), [&](uint32_t i) {
        const rte_mbuf* const m = b.packet[i];
        capture_record* const r = copy(m, now, no_tag);
        if (r == nullptr) return lost_.add(1);
        r->port = r->path.in = b.in_port;
        r->point = capture_point::in;
        awaited_[awaiting_++] = {m, r};
        uncommitted_ = true;
    });
    return uncommitted_;
}

template <class InPortOf>
void sampler::sample_sent(const burst& b, packet_mask packets, uint16_t port, uint64_t now,
                          const InPortOf& in_port_of) noexcept {
    for_each(choose(packets, port), [&](uint32_t i) {
        const rte_mbuf* const m = b.packet[i];
        capture_record* const r = copy(m, now, no_tag);
        if (r == nullptr) return lost_.add(1);
        r->port = port;
        r->point = capture_point::out;
        r->path = {.in = in_port_of(i), .out = port, .how = sampled_path::end::sent};
        commit_unless_awaiting();
    });
}

/// Complete the records of awaited packets among these.
/// end_of(i, record)  false: the path goes on
template <class EndOf>
void sampler::end(const burst& b, packet_mask packets, const EndOf& end_of) noexcept {
    for (uint32_t k = 0; k < awaiting_;) {
        bool ended = false;
        for_each(packets, [&](uint32_t i) {
            if (b.packet[i] == awaited_[k].packet) ended = end_of(i, *awaited_[k].record);
        });
        if (ended)
            awaited_[k] = awaited_[--awaiting_];
        else
            ++k;
    }
}

void sampler::end_sent(const burst& b, packet_mask packets) noexcept {
    end(b, packets, [&](uint32_t i, capture_record& r) {
        r.path.out = b.out[i].port;
        r.path.how = sampled_path::end::sent;
        return true;
    });
}

void sampler::end_dropped(const burst& b, packet_mask packets) noexcept {
    end(b, packets, [&](uint32_t i, capture_record& r) {
        r.why = b.drop[i];
        r.path.how = sampled_path::end::dropped;
        return true;
    });
}

void sampler::end_punted(const burst& b, packet_mask packets) noexcept {
    end(b, packets, [&](uint32_t i, capture_record& r) {
        switch (b.punt[i]) {
            case punt_reason::icmp_error:
            case punt_reason::too_big:
                r.why = b.drop[i];
                r.path.how = sampled_path::end::dropped;
                break;
            case punt_reason::resolve:  // leaves when the neighbour is known
                r.path.out = b.out[i].port;
                r.path.how = sampled_path::end::sent;
                break;
            default:
                r.path.how = sampled_path::end::to_router;
        }
        return true;
    });
}

void sampler::end_flooded(const burst& b, packet_mask packets, uint16_t members) noexcept {
    if (members < 2) return;  // stage tx, drop or punt ends the path
    end(b, packets, [&](uint32_t, capture_record& r) {
        r.path.out = members;
        r.path.how = sampled_path::end::flooded;
        return true;
    });
}

void sampler::end_copied(const burst& b, packet_mask packets, uint16_t port) noexcept {
    end(b, packets, [&](uint32_t, capture_record& r) {
        r.path.out = port;
        r.path.how = sampled_path::end::sent;
        return true;
    });
}

void sampler::commit() noexcept {
    if (uncommitted_) ring_.commit();
    awaiting_ = 0;
    uncommitted_ = false;
}

bool sampler::may_notify(uint64_t now) noexcept {
    if (now - second_begun_ >= limits_.tsc_hz) {
        second_begun_ = now;
        notified_ = 0;
    }
    return notified_ < limits_.drops_per_s;
}

void sampler::sample_dropped(const snapshot& v, const burst& b, packet_mask packets,
                             uint64_t now) noexcept {
    if (limits_.drops_per_s == 0) return;
    for_each(packets, [&](uint32_t i) {
        sample_dropped(b.packet[i], b.in_port, b.drop[i], removed_tag(v, b, i), now);
    });
}

void sampler::sample_dropped(const rte_mbuf* m, uint16_t port, drop_reason why, uint32_t tag,
                             uint64_t now) noexcept {
    if (limits_.drops_per_s == 0) return;
    capture_record* const r = may_notify(now) ? copy(m, now, tag) : nullptr;
    if (r == nullptr) return lost_drops_.add(1);
    r->port = port;
    r->point = capture_point::drop;
    r->why = why;
    commit_unless_awaiting();
    ++notified_;
}

capture_record* sampler::copy(const rte_mbuf* m, uint64_t now, uint32_t tag) noexcept {
    constexpr uint32_t macs_bytes = 2 * sizeof(mac_address);
    const uint32_t in_frame = std::min<uint32_t>(m->pkt_len, limits_.header_bytes);
    const uint32_t tag_bytes = tag != 0 && in_frame >= macs_bytes ? sizeof(packet::vlan_tag) : 0;
    const uint32_t kept = std::min(in_frame + tag_bytes, limits_.header_bytes);
    capture_record* const r = ring_.reserve(in_frame + tag_bytes);
    if (r == nullptr) return nullptr;
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
    return r;
}

stage_mask run_sample_in(context& c, burst& b, packet_mask packets) noexcept {
    const port_snapshot& port = c.snapshot->port[b.in_port];
    if (c.snapshot->sampling != nullptr) [[likely]] {
        sampler& s = *c.snapshot->sampling->of_producer[producer_of(c.worker)];
        if (s.sample_received(b, packets, c.now)) c.awaiting = &s;
    }
    return enqueue(b, packets, next_of_port(port, stage::sample_in));
}

namespace {

/// Control sends packets that it originated, and packets that waited for a neighbour: they have an MTU. Copies and fragments have
/// no metadata of control.
uint16_t ingress_port(const context& c, const burst& b, uint32_t i) noexcept {
    if (!c.sends_own) return b.in_port;
    if (c.bursts_in_use != 0) return sampled_path::no_port;
    const punted& of = punted_of(b.packet[i]);
    return of.mtu != 0 ? of.in_port : sampled_path::no_port;
}

}  // namespace

stage_mask run_sample_out(context& c, burst& b, packet_mask packets) noexcept {
    packet_mask left = c.snapshot->sampling != nullptr && !b.copies ? packets : 0;
    while (left != 0) {
        const uint16_t to = b.out[static_cast<size_t>(std::countr_zero(left))].port;
        packet_mask same = 0;
        for_each(left, [&](uint32_t i) { same |= packet_mask{b.out[i].port == to} << i; });
        left &= ~same;
        const port_state* const state = c.snapshot->port[to].state;
        if (state == nullptr || !state->link_up.load(std::memory_order_relaxed)) continue;
        c.snapshot->sampling->of_producer[producer_of(c.worker)]->sample_sent(
            b, same, to, c.now, [&](uint32_t i) { return ingress_port(c, b, i); });
    }
    return go_on_output(*c.snapshot, b, packets, stage::sample_out);
}

}  // namespace turnpike::datapath
