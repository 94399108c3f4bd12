// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/trace.hpp"

#include "datapath/capture.hpp"

#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>

namespace turnpike::datapath {
namespace {

/// Whether this is a burst of copies or fragments.
bool is_made(const context& c, const burst& b) noexcept {
    return &b >= c.made.data() && &b < c.made.data() + c.made.size();
}

/// The burst's passes through the graph: 1 before any recirculation.
uint8_t pass_of(const burst& b) noexcept { return static_cast<uint8_t>(b.recirculations + 1); }

/// A new burst of copies starts where the stage is not behind the last one: edges point forward.
bool begins(const trace_step& last, stage ran, const burst& b) noexcept {
    return last.copy == 0 || pass_of(b) < last.pass || (pass_of(b) == last.pass && ran <= last.ran);
}

/// The step for a stage that is about to run; null: no room.
trace_step* line_for(context& c, const burst& b, stage ran, packet_mask packets) noexcept {
    packet_trace& t = *c.traced;
    const bool made = is_made(c, b);
    if (made && (t.steps == 0 || begins(t.step[t.steps - 1U], ran, b))) ++t.copies;
    if (t.steps == packet_trace::max_steps) {
        t.truncated = true;
        return nullptr;
    }
    trace_step& now = t.step[t.steps++] = {};
    now.ran = ran;
    now.pass = pass_of(b);
    now.copy = made ? t.copies : uint8_t{0};
    now.packets = static_cast<uint8_t>(std::popcount(packets));
    return &now;
}

/// Record the packet's state behind the stage.
void note(trace_step& now, const burst& b, uint32_t i) noexcept {
    switch (now.ran) {
        case stage::iface_input:
            now.in = b.in[i];
            break;
        case stage::bridge:
            now.domain = b.domain[i];
            break;
        case stage::lookup:
            now.nexthop = b.nexthop[i];
            break;
        case stage::tx:
            now.out = b.out[i];
            break;
        case stage::drop:
            now.drop = b.drop[i];
            break;
        case stage::punt:
            now.punt = b.punt[i];
            if (now.punt == punt_reason::icmp_error || now.punt == punt_reason::too_big)
                now.drop = b.drop[i];
            break;
        default:
            break;
    }
    for (const stage sends : {stage::fragment, stage::count_out, stage::vlan_push,
                              stage::vxlan_output, stage::sample_out, stage::mirror_out, stage::tx})
        if ((b.at[static_cast<size_t>(sends)] >> i & 1) != 0) now.out = b.out[i];
}

template <stage S, stage_function* Run>
stage_mask traced(context& c, burst& b, packet_mask packets) noexcept {
    const auto first = static_cast<uint32_t>(std::countr_zero(packets));
    if (S == stage::tx && !is_made(c, b)) c.traced->sent.record(b.packet[first]);
    if constexpr (S == stage::rx || S == stage::tx || S == stage::drop)
        if (c.captured != nullptr) copy_for_captures(c, b, S, packets);
    trace_step* const now = line_for(c, b, S, packets);
    const stage_mask live = Run(c, b, packets);
    if (S == stage::tx && (b.at[static_cast<size_t>(stage::drop)] >> first & 1) != 0)
        c.traced->sent = {};
    if (now != nullptr) note(*now, b, first);
    return live;
}

stage_mask would_send(context& c, burst& b, packet_mask packets) noexcept {
    packet_mask drops = 0;
    for_each(packets, [&](uint32_t i) {
        const port_state* to = c.snapshot->port[b.out[i].port].state;
        if (to == nullptr || !to->link_up.load(std::memory_order_relaxed))
            return drop_packet(b, i, drop_reason::port_down, drops);
        rte_pktmbuf_free(b.packet[i]);
    });
    return enqueue(b, drops, stage::drop);
}
stage_mask would_punt(context&, burst& b, packet_mask packets) noexcept {
    for_each(packets, [&](uint32_t i) { rte_pktmbuf_free(b.packet[i]); });
    return 0;
}
stage_mask would_take_none(context&, burst& b, packet_mask packets) noexcept {
    return enqueue(b, packets, stage::ip_input);
}

// Stages without an effect: samplers, mirrors and counters are the workers'.
template <stage S>
stage_mask skip_of_port(context& c, burst& b, packet_mask packets) noexcept {
    return enqueue(b, packets, next_of_port(c.snapshot->port[b.in_port], S));
}
template <stage S>
stage_mask skip_input(context& c, burst& b, packet_mask packets) noexcept {
    return go_on_input(*c.snapshot, b, packets, S);
}
template <stage S>
stage_mask skip_output(context& c, burst& b, packet_mask packets) noexcept {
    return go_on_output(*c.snapshot, b, packets, S);
}

std::array<stage_row, stages> traced_stages() {
    std::array<stage_row, stages> all = stage_table;
#define TURNPIKE_STAGE(name, next, drops) \
    all[static_cast<size_t>(stage::name)].run = traced<stage::name, run_##name>;
    TURNPIKE_STAGES(TURNPIKE_STAGE)
#undef TURNPIKE_STAGE
    return all;
}
template <stage S, stage_function* Run>
void replace(std::array<stage_row, stages>& all) {
    all[static_cast<size_t>(S)].run = traced<S, Run>;
}
std::array<stage_row, stages> explained_stages() {
    std::array<stage_row, stages> all = traced_stages();
    replace<stage::ip_fast, would_take_none>(all);
    replace<stage::stamp, skip_of_port<stage::stamp>>(all);
    replace<stage::sample_in, skip_of_port<stage::sample_in>>(all);
    replace<stage::tx, would_send>(all);
    replace<stage::punt, would_punt>(all);
    replace<stage::mirror_in, skip_of_port<stage::mirror_in>>(all);
    replace<stage::count_in, skip_input<stage::count_in>>(all);
    replace<stage::count_out, skip_output<stage::count_out>>(all);
    replace<stage::sample_out, skip_output<stage::sample_out>>(all);
    replace<stage::mirror_out, skip_output<stage::mirror_out>>(all);
    return all;
}

}  // namespace

const std::array<stage_row, stages> traced_table = traced_stages();
const std::array<stage_row, stages> explained_table = explained_stages();

void packet_trace::lead::record(const rte_mbuf* m) noexcept {
    frame_bytes = m->pkt_len;
    kept = static_cast<uint16_t>(std::min<size_t>(m->data_len, max_bytes));
    std::memcpy(bytes.data(), rte_pktmbuf_mtod(m, const uint8_t*), kept);
}

void packet_trace::begin(uint64_t now, const rx_queue& from, const rte_mbuf* m) noexcept {
    tsc = now;
    port = from.port;
    queue = from.queue_id;
    steps = copies = 0;
    truncated = false;
    received.record(m);
    sent.frame_bytes = sent.kept = 0;
}

void packet_trace::begin_drop(uint64_t now, uint16_t in_port, const rte_mbuf* m,
                              drop_reason why) noexcept {
    begin(now, {.port = in_port, .queue_id = 0}, m);
    step[steps++] = {.ran = stage::drop, .drop = why};
}

bool packet_trace::dropped() const noexcept {
    return std::any_of(path().begin(), path().end(),
                       [](const trace_step& s) { return s.drop != drop_reason::none; });
}

bool trace_filter::matches(const packet_trace& t) const noexcept {
    if (dropped && !t.dropped()) return false;
    if (!address) return true;
    const std::optional<ip_ends> ip = ip_ends_of(t.received.span());
    return ip && (ip->source == *address || ip->destination == *address);
}

std::optional<ip_ends> ip_ends_of(std::span<const uint8_t> frame) noexcept {
    size_t at = packet::ethernet_bytes;
    for (int tags = 0; at <= frame.size(); ++tags, at += sizeof(packet::vlan_tag)) {
        const auto type = load_be<uint16_t>(&frame[at - sizeof(uint16_t)]);
        const auto ip = frame.subspan(at);
        if (type == packet::ether_type_ipv4 && ip.size() >= sizeof(packet::ipv4_header)) {
            const auto& h = packet::header_at<packet::ipv4_header>(ip.data());
            return ip_ends{.source = ip_address::from_v4(h.source),
                           .destination = ip_address::from_v4(h.destination),
                           .protocol = h.protocol,
                           .rest = ip.subspan(std::min<size_t>(h.header_bytes(), ip.size()))};
        }
        if (type == packet::ether_type_ipv6 && ip.size() >= sizeof(packet::ipv6_header)) {
            const auto& h = packet::header_at<packet::ipv6_header>(ip.data());
            return ip_ends{.source = ip_address::from_v6(h.source),
                           .destination = ip_address::from_v6(h.destination),
                           .protocol = h.next_header,
                           .rest = ip.subspan(sizeof(packet::ipv6_header))};
        }
        const bool tag = packet::is_vlan_type(type);
        if (!tag || tags == 2) break;
    }
    return std::nullopt;
}

}  // namespace turnpike::datapath
