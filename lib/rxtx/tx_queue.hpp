// SPDX-License-Identifier: BSD-3-Clause
// Coalesced sending on one TX queue: packets are collected until a burst is full or the oldest has
// waited long enough, then one tx_burst (and so one doorbell) sends them.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "counters/port_counters.hpp"

namespace turnpike::rxtx {

/// Called for packets that the driver refused twice, before they are freed.
struct refusal_hook {
    void (*call)(void* self, const counters::port_counters& port, rte_mbuf* const* packets,
                 uint16_t n) noexcept = nullptr;
    void* self = nullptr;
};

/// A packet whose sending is awaited, for a measurement.
struct awaited_packet {
    rte_mbuf* packet = nullptr;  ///< null: none
    /// Called in front of the call of tx_burst that has the packet. False: another packet is in its mbuf.
    bool (*sending)(awaited_packet& self) noexcept = nullptr;
    /// Called after the driver took the packet.
    void (*sent)(awaited_packet& self, const counters::port_counters& port) noexcept = nullptr;
};

/// Threads  one worker.
class tx_queue {
  public:
    static constexpr uint16_t burst = 32;

    tx_queue() = default;
    tx_queue(uint16_t port_id, uint16_t queue_id, counters::port_counters& counters,
             refusal_hook refused = {}) noexcept
        : counters_(&counters), port_id_(port_id), queue_id_(queue_id), refused_(refused) {}

    /// True if this worker may send on the port.
    [[nodiscard]] bool usable() const noexcept { return counters_ != nullptr; }

    [[nodiscard]] bool is(uint16_t port_id, uint16_t queue_id) const noexcept {
        return port_id_ == port_id && queue_id_ == queue_id;
    }

    /// Look for this packet in everything that is sent; null: for none.
    void await(awaited_packet* packet) noexcept { awaited_ = packet; }

    /// Add a packet; sends when the burst is full. `now` in TSC cycles.
    void push(rte_mbuf* packet, uint64_t now) noexcept {
        if (waiting_ == 0) oldest_ = now;
        packets_[waiting_++] = packet;
        if (waiting_ == burst) flush();
    }

    /// Add several packets in order; a full burst is sent directly if no packet is pending.
    void push(rte_mbuf* const* packets, uint16_t n, uint64_t now) noexcept {
        if (n == burst && waiting_ == 0) return send(const_cast<rte_mbuf**>(packets), n);
        while (n != 0) {
            if (waiting_ == 0) oldest_ = now;
            const auto part = std::min(n, static_cast<uint16_t>(burst - waiting_));
            std::copy_n(packets, part, &packets_[waiting_]);
            waiting_ = static_cast<uint16_t>(waiting_ + part);
            if (waiting_ == burst) flush();
            packets += part;
            n = static_cast<uint16_t>(n - part);
        }
    }

    /// Send if the oldest packet has waited for `drain_cycles`.
    ///
    /// now  not before the last push's
    void drain(uint64_t now, uint64_t drain_cycles) noexcept {
        if (waiting_ != 0 && now - oldest_ >= drain_cycles) flush();
    }

    /// Send now. Packets that the driver refuses twice are dropped: tx_refused.
    void flush() noexcept {
        if (waiting_ != 0) send(packets_.data(), std::exchange(waiting_, uint16_t{0}));
    }

    /// Call tx_burst without a packet: the driver may have generated frames to send.
    void call() const noexcept { rte_eth_tx_burst(port_id_, queue_id_, nullptr, 0); }

    /// Have the driver free sent buffers, if it supports that.
    void clean_up() const noexcept { rte_eth_tx_done_cleanup(port_id_, queue_id_, 0); }

  private:
    static uint64_t bytes_of(rte_mbuf* const* packets, uint16_t n) noexcept {
        static_assert(burst <= 256);  // of frames of less than 16 MB
        uint32_t sum = 0;
        uint16_t i = 0;
        for (; i + 4 <= n; i = static_cast<uint16_t>(i + 4))  // unrolled by hand: compilers do not
            sum += packets[i]->pkt_len + packets[i + 1]->pkt_len + packets[i + 2]->pkt_len +
                   packets[i + 3]->pkt_len;
        for (; i < n; ++i) sum += packets[i]->pkt_len;
        return sum;
    }
    /// The position of the awaited packet; `n`: it is not among these.
    [[gnu::noinline]] uint16_t find_awaited(rte_mbuf* const* packets, uint16_t n) const noexcept {
        if (awaited_->packet == nullptr) return n;
        const auto* const at = std::find(packets, packets + n, awaited_->packet);
        return at != packets + n && awaited_->sending(*awaited_)
                   ? static_cast<uint16_t>(at - packets)
                   : n;
    }
    void send(rte_mbuf** packets, uint16_t n) noexcept {
        uint16_t awaited = n;
        if (awaited_ != nullptr) [[unlikely]]
            awaited = find_awaited(packets, n);
        uint64_t bytes = bytes_of(packets, n);
        uint16_t sent = rte_eth_tx_burst(port_id_, queue_id_, packets, n);
        uint64_t bursts = 1;
        if (sent < n) [[unlikely]] {
            const uint16_t more = rte_eth_tx_burst(port_id_, queue_id_, &packets[sent],
                                                   static_cast<uint16_t>(n - sent));
            bursts = uint64_t{sent != 0} + (more != 0);
            sent = static_cast<uint16_t>(sent + more);
            uint64_t refused_bytes = 0;
            for (uint16_t i = sent; i < n; ++i) refused_bytes += packets[i]->pkt_len;
            bytes -= refused_bytes;
            if (refused_.call != nullptr && sent < n)
                refused_.call(refused_.self, *counters_, &packets[sent],
                              static_cast<uint16_t>(n - sent));
            rte_pktmbuf_free_bulk(&packets[sent], static_cast<unsigned>(n - sent));
            counters_->drop(packet::drop_reason::tx_refused, refused_bytes,
                            static_cast<uint64_t>(n - sent));
        }
        if (awaited < sent) [[unlikely]]
            awaited_->sent(*awaited_, *counters_);
        counters_->tx_packets.add(sent);
        counters_->tx_bursts.add(bursts);
        counters_->tx_bytes.add(bytes);
    }

    counters::port_counters* counters_ = nullptr;
    uint64_t oldest_ = 0;
    uint16_t port_id_ = 0, queue_id_ = 0, waiting_ = 0;
    std::array<rte_mbuf*, burst> packets_{};
    refusal_hook refused_{};
    awaited_packet* awaited_ = nullptr;
};

}  // namespace turnpike::rxtx
