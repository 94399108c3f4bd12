// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/worker.hpp"

#include <rte_ethdev.h>
#include <rte_ring.h>

#include "datapath/acl.hpp"
#include "datapath/lookup.hpp"
#include "datapath/parse.hpp"
#include "datapath/patch.hpp"
#include "datapath/rewrite.hpp"

namespace turnpike::datapath {

using packet::drop_reason;

worker::worker(const worker_plan& plan, const tables& t) : plan_(plan), tables_(t) {
    for (uint16_t i = 0; i < t.ports; ++i)
        if (plan_.tx_queue_id[i] >= 0)
            tx_[i] = rxtx::tx_queue(t.port[i].ethdev_id,
                                    static_cast<uint16_t>(plan_.tx_queue_id[i]), counters_[i]);
}

void worker::run(const std::atomic<bool>& stop) noexcept {
    start();
    while (!stop.load(std::memory_order_relaxed)) poll();
    finish();
}

void worker::start() noexcept {
    last_ = cost::tsc();
    rcu_ = tables_.rcu.get();
    if (rcu_ != nullptr) rcu_->online(plan_.number);
}

void worker::poll() noexcept {
    uint32_t received = 0;
    for (const rx_queue& from : plan_.rx) received += take_burst(from);
    const uint32_t from_control = take_from_control();
    // A round that brought nothing has nothing to coalesce with: send what waits at once.
    const uint64_t drain = received + from_control == 0 ? 0 : plan_.drain_cycles;
    for (uint16_t i = 0; i < tables_.ports; ++i) tx_[i].drain(last_, drain);
    if (rcu_ != nullptr) rcu_->quiescent(plan_.number);
    const uint64_t now = cost::tsc();
    meter_.iteration(received, now - last_);
    last_ = now;
}

uint32_t worker::take_burst(const rx_queue& from) noexcept {
    burst b;
    const bool sampled = meter_.sample_next();
    const uint64_t start = sampled ? cost::tsc() : last_;
    b.count = rte_eth_rx_burst(tables_.port[from.port].ethdev_id, from.queue_id, b.packet.data(),
                               burst_max);
    if (b.count == 0) return 0;
    b.in_port = from.port;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < b.count; ++i) bytes += b.packet[i]->pkt_len;
    cost::port_counters& counted = counters_[from.port];
    counted.rx_packets.add(b.count);
    counted.rx_bytes.add(bytes);
    counted.rx_bursts.add(1);
    meter_.burst(b.count);
    if (sampled)
        for (uint32_t i = 0; i < b.count; ++i) counted.rx_sizes.add(b.packet[i]->pkt_len);

    cost::stage_clock clock(meter_, sampled, start);
    clock.mark(cost::stage::rx, b.count);
    if (tables_.port[b.in_port].routed)
        route(b, clock);
    else
        cross(b, clock);
    if (sampled)
        for (uint32_t i = 0; i < b.count; ++i)
            if (b.fate[i] == fate::send)
                counters_[b.out_port[i]].tx_sizes.add(b.packet[i]->pkt_len);
    send(b, start);
    clock.mark(cost::stage::tx, b.count);
    return b.count;
}

void worker::route(burst& b, cost::stage_clock& clock) noexcept {
    parse(b, tables_);
    clock.mark(cost::stage::parse, b.count);
    if (const auto* list = tables_.port[b.in_port].acl_in.load(std::memory_order_acquire)) {
        acl_in(b, *list, plan_.number);
        clock.mark(cost::stage::acl_in, b.count);
    }
    lookup(b, tables_);
    clock.mark(cost::stage::lookup, b.count);
    rewrite(b, tables_);
    clock.mark(cost::stage::rewrite, b.count);
    if (!tables_.out_lists) return;
    acl_out(b, tables_, plan_.number);
    clock.mark(cost::stage::acl_out, b.count);
}

/// Layer 2: frames are looked into only where a list is to judge them.
void worker::cross(burst& b, cost::stage_clock& clock) noexcept {
    patch(b, tables_);
    clock.mark(cost::stage::patch, b.count);
    const port_entry& in = tables_.port[b.in_port];
    const auto* list = in.acl_in.load(std::memory_order_acquire);
    const bool out = tables_.port[in.patch_to].acl_out.load(std::memory_order_relaxed) != nullptr;
    if (list == nullptr && !out) return;
    parse_patched(b);
    clock.mark(cost::stage::parse, b.count);
    if (list != nullptr) {
        acl_in(b, *list, plan_.number);
        clock.mark(cost::stage::acl_in, b.count);
    }
    if (!out) return;
    acl_out(b, tables_, plan_.number);
    clock.mark(cost::stage::acl_out, b.count);
}

uint32_t worker::take_from_control() noexcept {
    if (plan_.from_control == nullptr) return 0;
    burst b;
    b.count = rte_ring_sc_dequeue_burst(
        plan_.from_control, reinterpret_cast<void**>(b.packet.data()), burst_max, nullptr);
    if (b.count == 0) return 0;
    for (uint32_t i = 0; i < b.count; ++i) {
        b.in_port = b.out_port[i] = b.packet[i]->port;
        b.fate[i] = fate::send;
        send_one(b, i, last_);
    }
    return b.count;
}

void worker::send(burst& b, uint64_t now) noexcept {
    for (uint32_t i = 0; i < b.count; ++i) {
        if (b.fate[i] == fate::send) [[likely]]
            send_one(b, i, now);
        else if (b.fate[i] == fate::punt)
            punt(b, i);
        else
            free_dropped(b, i);
    }
}

void worker::send_one(burst& b, uint32_t i, uint64_t now) noexcept {
    const uint16_t out = b.out_port[i];
    if (!tables_.port[out].link_up.load(std::memory_order_relaxed)) [[unlikely]] {
        b.drop_packet(i, drop_reason::port_down);
        return free_dropped(b, i);
    }
    tx_[out].push(b.packet[i], now);
}

void worker::punt(burst& b, uint32_t i) noexcept {
    rte_mbuf* m = b.packet[i];
    const punt_reason why = b.punt[i];
    punted_of(m) = {.parsed = b.parsed[i],
                    .hop = b.hop[i],
                    .in_port = b.in_port,
                    .out_port = b.out_port[i],
                    .why = why,
                    .drop = b.drop[i]};
    const bool neighbourly = why == punt_reason::arp || why == punt_reason::nd;
    if (rte_ring_sp_enqueue(neighbourly ? plan_.neighbours_to_control : plan_.to_control, m) == 0)
        return;
    if (why != punt_reason::report) b.drop_packet(i, drop_reason::control_busy);
    free_dropped(b, i);
}

void worker::free_dropped(const burst& b, uint32_t i) noexcept {
    counters_[b.in_port].drop(b.drop[i]);
    rte_pktmbuf_free(b.packet[i]);
}

void worker::empty_receive_rings() noexcept {
    constexpr uint32_t most =
        65536;  // a ring's worth and more; traffic that goes on cannot hold us
    std::array<rte_mbuf*, burst_max> packets;
    for (const rx_queue& from : plan_.rx)
        for (uint32_t taken = 0; taken < most;) {
            const uint16_t n = rte_eth_rx_burst(tables_.port[from.port].ethdev_id, from.queue_id,
                                                packets.data(), burst_max);
            if (n == 0) break;
            for (uint16_t i = 0; i < n; ++i) counters_[from.port].rx_bytes.add(packets[i]->pkt_len);
            counters_[from.port].rx_packets.add(n);
            counters_[from.port].drop(drop_reason::stopping, n);
            rte_pktmbuf_free_bulk(packets.data(), n);
            taken += n;
        }
}

void worker::finish() noexcept {
    while (take_from_control() != 0) {
    }
    for (uint16_t i = 0; i < tables_.ports; ++i) tx_[i].flush();
    if (rcu_ != nullptr) rcu_->offline(plan_.number);
}

}  // namespace turnpike::datapath
