// SPDX-License-Identifier: BSD-3-Clause
// Coalesced sending on one TX queue: packets gather until a burst is full or the oldest has waited
// long enough, then one tx_burst (and so one doorbell) sends them.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <array>
#include <cstdint>

#include "cost/port_counters.hpp"

namespace turnpike::rxtx {

/// Threads  one worker.
class tx_queue {
  public:
    static constexpr uint16_t burst = 32;

    tx_queue() = default;
    tx_queue(uint16_t port_id, uint16_t queue_id, cost::port_counters& counters) noexcept
        : counters_(&counters), port_id_(port_id), queue_id_(queue_id) {}

    /// Whether this worker may send here at all.
    [[nodiscard]] bool usable() const noexcept { return counters_ != nullptr; }

    /// Take a packet; sends when the burst is full. `now` in TSC cycles.
    void push(rte_mbuf* packet, uint64_t now) noexcept {
        if (waiting_ == 0) oldest_ = now;
        packets_[waiting_++] = packet;
        if (waiting_ == burst) flush();
    }

    /// Send if the oldest packet has waited for `drain_cycles`.
    void drain(uint64_t now, uint64_t drain_cycles) noexcept {
        if (waiting_ != 0 && now - oldest_ >= drain_cycles) flush();
    }

    /// Send now. What the driver refuses twice is a drop, tx_refused.
    void flush() noexcept {
        if (waiting_ == 0) return;
        uint64_t bytes = 0;
        for (uint16_t i = 0; i < waiting_; ++i) bytes += packets_[i]->pkt_len;
        uint16_t sent = rte_eth_tx_burst(port_id_, queue_id_, packets_.data(), waiting_);
        if (sent < waiting_) [[unlikely]] {
            sent = static_cast<uint16_t>(sent +
                                         rte_eth_tx_burst(port_id_, queue_id_, &packets_[sent],
                                                          static_cast<uint16_t>(waiting_ - sent)));
            for (uint16_t i = sent; i < waiting_; ++i) bytes -= packets_[i]->pkt_len;
            rte_pktmbuf_free_bulk(&packets_[sent], static_cast<unsigned>(waiting_ - sent));
            counters_->drop(packet::drop_reason::tx_refused,
                            static_cast<uint64_t>(waiting_ - sent));
        }
        counters_->tx_packets.add(sent);
        counters_->tx_bytes.add(bytes);
        waiting_ = 0;
    }

  private:
    cost::port_counters* counters_ = nullptr;
    uint64_t oldest_ = 0;
    uint16_t port_id_ = 0, queue_id_ = 0, waiting_ = 0;
    std::array<rte_mbuf*, burst> packets_{};
};

}  // namespace turnpike::rxtx
