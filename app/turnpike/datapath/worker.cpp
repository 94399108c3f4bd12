// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/worker.hpp"

#include <rte_ethdev.h>
#include <rte_ring.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>

#include "datapath/latency.hpp"
#include "datapath/read_headers.hpp"
#include "datapath/sampler.hpp"
#include "datapath/stages/acl_verdict.hpp"
#include "datapath/stages/tunnel_exit.hpp"

namespace turnpike::datapath {

worker::worker(const worker_parts& parts) : parts_(parts) {
    context_.worker = parts.number;
    context_.to_control = parts.to_control;
    context_.neighbours_to_control = parts.neighbours_to_control;
    context_.sessions_to_control = parts.sessions_to_control;
    context_.routing_to_control = parts.routing_to_control;
    context_.policing = parts.policing;
    context_.bridge_state = parts.bridge_state;
    context_.tunnel_state = parts.tunnel_state;
}

void worker::run(const std::atomic<bool>& stop) noexcept {
    start();
    while (!stop.load(std::memory_order_relaxed)) poll();
    finish();
}

void worker::start() noexcept {
    // Linux adds up to 50 us to every sleep of a thread, to coalesce wakeups (prctl(2)).
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    last_ = context_.now = counters::tsc();
    running_ = true;
    parts_.rcu->online(parts_.number);
    adopt(parts_.published->load(std::memory_order_acquire));
}

/// Switch to a new snapshot. A worker that takes over one of our queues must not overtake our packets:
/// send control's packets by the old queues, and flush.
uint32_t worker::adopt(const snapshot* now) noexcept {
    const uint32_t from_control = context_.snapshot != nullptr ? receive_all_injected() : 0;
    flush();
    static const worker_queues none = [] {
        worker_queues q;
        q.tx.fill(-1);
        return q;
    }();
    const worker_queues& queues =
        parts_.number < now->queues.size() ? now->queues[parts_.number] : none;
    queues_ = &queues;
    latency_sampler* const latency = context_.latency =
        now->latency != nullptr && parts_.number < now->latency->of_worker.size()
            ? now->latency->of_worker[parts_.number].get()
            : nullptr;
    if (latency != nullptr) latency->know(context_.counters.data());
    for (uint16_t p = 0; p < max_ports; ++p) {
        const bool here = now->port[p].state != nullptr && queues.tx[p] >= 0;
        const uint16_t id = now->port[p].ethdev_id, queue = static_cast<uint16_t>(queues.tx[p]);
        if (context_.tx[p].usable() && (!here || !context_.tx[p].is(id, queue)))
            context_.tx[p] = {};
        if (here && !context_.tx[p].usable())
            context_.tx[p] =
                rxtx::tx_queue(id, queue, context_.counters[p], {report_refused, this});
        context_.tx[p].await(latency);
        const packet_mask one = packet_mask{1} << p;
        ports_ = here ? ports_ | one : ports_ & ~one;
        called_ = here && now->port[p].needs_periodic_tx ? called_ | one : called_ & ~one;
    }
    call_at_ = called_ == 0 ? UINT64_MAX : 0;
    context_.snapshot = now;
    return from_control;
}

/// Free sent mbufs that drivers still hold: they can be the whole pool, and then no packet is
/// received.
void worker::reclaim_sent() noexcept {
    for_each(ports_, [&](uint32_t p) { context_.tx[p].clean_up(); });
}

/// Drivers send LACP PDUs every second, whether or not the worker has packets.
void worker::flush_drivers() noexcept {
    for_each(called_, [&](uint32_t p) { context_.tx[p].call(); });
    call_at_ = last_ + context_.snapshot->call_cycles;
}

void worker::poll() noexcept {
    uint32_t from_control = 0;
    if (const snapshot* now = parts_.published->load(std::memory_order_acquire);
        now != context_.snapshot) [[unlikely]]
        from_control = adopt(now);
    if (const uint32_t exhausted = parts_.pool_exhausted->load(std::memory_order_relaxed);
        exhausted != exhausted_seen_) [[unlikely]] {
        exhausted_seen_ = exhausted;
        reclaim_sent();
    }
    if (last_ >= call_at_) [[unlikely]]
        flush_drivers();
    context_.now = last_;
    uint32_t received = 0;
    for (const rx_queue& from : queues_->rx) received += receive_burst(from);
    from_control += receive_injected();
    // An idle iteration has nothing to coalesce with: flush at once.
    const uint64_t drain = received + from_control == 0 ? 0 : context_.snapshot->drain_cycles;
    for_each(ports_, [&](uint32_t p) { context_.tx[p].drain(last_, drain); });
    parts_.rcu->quiescent(parts_.number);
    const uint64_t now = counters::tsc();
    meter_.iteration(received, from_control, now - last_);
    last_ = now;
    if (received + from_control != 0)
        nap_us_ = 0;
    else if (context_.snapshot->sleep_us != 0)
        nap();
}

/// The flush belongs to the packets, so the pause begins behind it.
void worker::pause() noexcept {
    if (!running_) return;
    flush();
    parts_.rcu->offline(parts_.number);
    context_.snapshot = nullptr;  // may be freed meanwhile
    paused_ = counters::tsc();
}

void worker::resume() noexcept {
    if (running_) meter_.lent(go_online());
}

/// End a pause; returns its cycles, which are not part of an iteration.
uint64_t worker::go_online() noexcept {
    parts_.rcu->online(parts_.number);
    const uint64_t gap = counters::tsc() - paused_;
    last_ += gap;
    return gap;
}

/// Each sleep is a microsecond longer than the last, so a short pause in traffic costs a short
/// sleep (as Open vSwitch's pmd-sleep-max). The worker is offline in lib/rcu meanwhile, so control
/// does not wait for it.
void worker::nap() noexcept {
    nap_us_ = std::min(nap_us_ + 1, context_.snapshot->sleep_us);
    const timespec how_long{0, long{nap_us_} * 1000};
    pause();
    nanosleep(&how_long, nullptr);
    meter_.slept(go_online());
}

uint32_t worker::receive_burst(const rx_queue& from) noexcept {
    burst& b = burst_;
    context_.sampled = meter_.sample_next();
    counters::stage_clock clock(meter_, context_.sampled);
    const uint32_t received = rte_eth_rx_burst(context_.snapshot->port[from.port].ethdev_id,
                                               from.queue_id, b.packet.data(), burst_max);
    if (received == 0) return 0;
    b.begin(received, from.port);
    context_.counters[from.port].rx_bursts.add(1);
    meter_.burst(received);
    if (observed_.load(std::memory_order_acquire)) [[unlikely]]
        if (process_observed(from)) return received;
    dispatch(stage_table, context_, b, enqueue(b, all_of(received), stage::rx),
             [&](size_t stage, packet_mask packets) {
                 clock.mark(stage, static_cast<uint32_t>(std::popcount(packets)));
             });
    if (context_.awaiting != nullptr) [[unlikely]]
        commit_samples();
    return received;
}

bool worker::process_observed(const rx_queue& from) noexcept {
    settle_flags(burst_, context_.snapshot->port[from.port].tag_type);  // captures have the frames
    trace_buffer* const buffer = trace_.load(std::memory_order_acquire);
    context_.captured = tap_.load(std::memory_order_acquire);
    const bool traced = buffer != nullptr && buffer->wants(from.port);
    if (traced) {
        process_traced(*buffer, from);
    } else if (context_.captured != nullptr) {
        context_.sampled = false;
        context_.table = captured_table.data();
        dispatch(context_.table, context_, burst_, enqueue(burst_, all_of(burst_.count), stage::rx),
                 [](size_t, packet_mask) {});
        context_.table = all_stages;
        commit_samples();
    }
    const bool did = traced || context_.captured != nullptr;
    context_.captured = nullptr;
    return did;
}

void worker::report_refused(void* self, const counters::port_counters& counters,
                            rte_mbuf* const* packets, uint16_t n) noexcept {
    const auto* const w = static_cast<const worker*>(self);
    const context& c = w->context_;
    const size_t producer = producer_of(w->parts_.number);
    const auto port = static_cast<uint16_t>(&counters - c.counters.data());
    if (const capture_tap* tap = w->tap_.load(std::memory_order_acquire))
        copy_refused(*tap, producer, port, packets, n);
    if (c.snapshot == nullptr || c.snapshot->sampling == nullptr) return;
    for (uint16_t i = 0; i < n; ++i)
        c.snapshot->sampling->of_producer[producer]->sample_dropped(
            packets[i], port, drop_reason::tx_refused, no_tag, c.now);
}

/// The burst is processed: the samples of its packets are complete.
void worker::commit_samples() noexcept {
    if (sampler* const s = std::exchange(context_.awaiting, nullptr)) s->commit();
}

/// Run the burst one packet at a time, so that every recorded step belongs to the traced packet.
void worker::process_traced(trace_buffer& buffer, const rx_queue& from) noexcept {
    burst& b = burst_;
    const std::array<rte_mbuf*, burst_max> packets = b.packet;
    const uint32_t received = b.count;
    context_.sampled = false;
    context_.table = traced_table.data();
    for (uint32_t i = 0; i < received; ++i) {
        packet_trace& trace = buffer.next();
        trace.begin(context_.now, from, packets[i]);
        context_.traced = &trace;
        b.begin(1, from.port);
        b.packet[0] = packets[i];
        dispatch(context_.table, context_, b, enqueue(b, 1, stage::rx), [](size_t, packet_mask) {});
        buffer.end();
        commit_samples();
    }
    context_.traced = nullptr;
    context_.table = all_stages;
}

/// Send the packets of control's ring by their interfaces; their originator updates the port's
/// counters.
uint32_t worker::receive_injected() noexcept {
    const uint32_t taken = rte_ring_sc_dequeue_burst(
        parts_.from_control, reinterpret_cast<void**>(burst_.packet.data()), burst_max, nullptr);
    if (taken != 0) [[unlikely]]
        send_by_ports(taken);
    return taken;
}

uint32_t worker::receive_all_injected() noexcept {
    uint32_t all = 0;
    while (const uint32_t taken = receive_injected()) all += taken;
    return all;
}

/// Packets of a port form a burst, without mirrored copies, which form another: recirculation compacts the burst, so it must
/// not wait for others.
void worker::send_by_ports(uint32_t taken) noexcept {
    burst& b = burst_;
    const std::array<rte_mbuf*, burst_max> packets = b.packet;
    context_.sampled = false;
    context_.sends_own = true;
    for (packet_mask left = all_of(taken); left != 0;) {
        const auto port_of = [&](uint32_t i) { return punted_of(packets[i]).out.port; };
        const auto copy_of = [&](uint32_t i) { return punted_of(packets[i]).copy; };
        const auto first = static_cast<uint32_t>(std::countr_zero(left));
        b.begin(0, port_of(first));
        b.copies = copy_of(first);
        packet_mask same = 0;
        for_each(left, [&](uint32_t i) {
            if (port_of(i) != b.in_port || copy_of(i) != b.copies) return;
            same |= packet_mask{1} << i;
            b.packet[b.count++] = packets[i];
        });
        left &= ~same;
        send_own(b);
    }
    context_.sends_own = false;
}

void worker::send_own(burst& b) noexcept {
    const snapshot& v = *context_.snapshot;
    packet_mask bridged = 0, gone = 0;
    for (uint32_t i = 0; i < b.count; ++i) {
        b.out[i] = punted_of(b.packet[i]).out;
        b.single_segment_bytes[i] = b.packet[i]->nb_segs == 1 ? b.packet[i]->pkt_len : 0;
        // On a tunnel interface: process the packet as received from the remote endpoint.
        if (const uint16_t by = b.out[i].interface; v.interfaces[by].port == tunnel_port) {
            b.in[i] = by;
            pop_tunnel_vlan(v, b, i, by);
            b.recirculated |= packet_mask{1} << i;
            continue;
        }
        // Originated by control on behalf of a station, to a station behind this member.
        if (const uint16_t domain = punted_of(b.packet[i]).domain; domain != 0) {
            b.domain[i] = domain;
            const packet_mask one = packet_mask{1} << i;
            const bool there = v.bridges != nullptr &&
                               v.bridges->is_member(domain, b.out[i].interface) &&
                               b.out[i].port == v.bridges->exits[b.out[i].interface].port;
            (there ? bridged : gone) |= one;
            if (has_out_lists(v) && !read_headers(b.packet[i], b.parsed[i])) b.parsed[i] = {};
            continue;
        }
        // Released by neighbour resolution. The interface may have gone, gone down or become another kind since then.
        if (const interface& to = v.interfaces[b.out[i].interface];
            to.port != b.out[i].port || to.kind != interface_kind::routed) {
            gone |= packet_mask{1} << i;
            continue;
        }
        b.mtu[i] = v.interfaces[b.out[i].interface].mtu;
        if (const uint16_t mtu = punted_of(b.packet[i]).mtu; mtu != 0)
            b.mtu[i] = std::min(b.mtu[i], mtu);
        if (b.packet[i]->pkt_len > sizeof(packet::ethernet_header) + b.mtu[i])
            b.exceeds_mtu |= packet_mask{1} << i;
        // ACLs of a bridge's members apply to originated packets; an unparsable one counts as
        // non-IP.
        if (has_bridge_routing(v) && !read_headers(b.packet[i], b.parsed[i])) b.parsed[i] = {};
    }
    const packet_mask sent = all_of(b.count) & ~b.recirculated & ~bridged & ~gone;
    packet_mask drops = 0;
    for_each(gone, [&](uint32_t i) { drop_packet(b, i, drop_reason::interface_gone, drops); });
    if (bridged != 0 && has_out_lists(v)) {
        const packet_mask denied = classify_out(v, b, bridged, context_.worker);
        bridged &= ~denied;
        drops |= denied;
    }
    // Egress ACLs of routed interfaces do not apply to packets of the router.
    const stage_mask first = go_on_output(v, b, bridged, stage::flood) |
                             go_on_output(v, b, sent, stage::acl_out) |
                             enqueue(b, drops, stage::drop);
    if (observed_.load(std::memory_order_acquire)) [[unlikely]]
        return send_captured(b, first);
    dispatch(stage_table, context_, b, first, [](size_t, packet_mask) {});
}

void worker::send_captured(burst& b, stage_mask first) noexcept {
    context_.captured = tap_.load(std::memory_order_acquire);
    if (context_.captured != nullptr) context_.table = captured_table.data();
    dispatch(context_.table, context_, b, first, [](size_t, packet_mask) {});
    context_.captured = nullptr;
    context_.table = all_stages;
}

void worker::empty_receive_rings() noexcept {
    constexpr uint32_t most = 65536;  // at least one full ring; bounds the loop under load
    std::array<rte_mbuf*, burst_max> packets;
    if (queues_ == nullptr) return;  // never started
    const snapshot& v = *parts_.published->load(std::memory_order_acquire);
    for (const rx_queue& from : queues_->rx)
        for (uint32_t taken = 0; taken < most;) {
            const uint16_t n = rte_eth_rx_burst(v.port[from.port].ethdev_id, from.queue_id,
                                                packets.data(), burst_max);
            if (n == 0) break;
            counters::port_counters& counted = context_.counters[from.port];
            uint64_t bytes = 0;
            for (uint16_t i = 0; i < n; ++i) bytes += packets[i]->pkt_len;
            counted.rx_bytes.add(bytes);
            counted.rx_packets.add(n);
            counted.drop(drop_reason::stopping, bytes, n);
            rte_pktmbuf_free_bulk(packets.data(), n);
            taken += n;
        }
}

void worker::finish() noexcept {
    if (!running_) return;
    uint32_t from_control = adopt(parts_.published->load(std::memory_order_acquire));
    from_control += receive_all_injected();
    pause();
    meter_.iteration(0, from_control, paused_ - last_);
    last_ = paused_;
    running_ = false;
}

}  // namespace turnpike::datapath
