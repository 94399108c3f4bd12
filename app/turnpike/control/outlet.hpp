// SPDX-License-Identifier: BSD-3-Clause
// Control's way out: packets that control made, or that waited, to the worker that sends them.
// Control never calls tx_burst on a worker's queue: it hands packets over by the worker's ring.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "cost/port_counters.hpp"
#include "datapath/tables.hpp"

struct rte_mempool;
struct rte_ring;

namespace turnpike::control {

/// Threads  control.
class outlet {
  public:
    outlet(rte_mempool* pool, const datapath::tables& tables) : pool_(pool), tables_(tables) {}

    /// The ring of the worker that may send on a port.
    void set_ring(uint16_t port, rte_ring* ring) noexcept { ring_[port] = ring; }

    /// A packet of ours with these bytes, counted as originated at `port`; null where the pool is
    /// empty or its buffers are too short.
    [[nodiscard]] rte_mbuf* originate(uint16_t port, std::span<const uint8_t> frame) noexcept;
    /// The same, sent.
    void originate_and_send(uint16_t port, std::span<const uint8_t> frame) noexcept;

    /// Send a whole frame.
    void send(rte_mbuf* packet, uint16_t port) noexcept;
    /// Write the Ethernet header over the first 14 bytes and send.
    void send_ip(rte_mbuf* packet, uint16_t port, const packet::mac_address& to) noexcept;

    /// Free under a reason; the packet was received (or originated) at `port`.
    void drop(rte_mbuf* packet, uint16_t port, packet::drop_reason why) noexcept;
    /// Free what was for us.
    void consume(rte_mbuf* packet, uint16_t port) noexcept;
    /// A request became its own reply: consumed, and originated.
    void turn_around(uint16_t port) noexcept;

    [[nodiscard]] const cost::port_counters& port(uint16_t index) const noexcept {
        return counters_[index];
    }

  private:
    rte_mempool* pool_;
    const datapath::tables& tables_;
    std::array<rte_ring*, datapath::max_ports> ring_{};
    std::array<cost::port_counters, datapath::max_ports> counters_;
};

}  // namespace turnpike::control
