// SPDX-License-Identifier: BSD-3-Clause
// Control's way out: packets that control made, or that waited, to the worker that sends them.
// Control never calls tx_burst on a worker's queue: it hands packets over by the worker's ring.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "cost/port_counters.hpp"
#include "datapath/burst.hpp"
#include "datapath/view.hpp"

struct rte_mempool;
struct rte_ring;

namespace turnpike::control {

/// Threads  control. Errors none: a packet that cannot go is dropped under its reason.
class outlet {
  public:
    /// ring_of  the ring of a worker that may send by a port; null: there is none
    outlet(rte_mempool* pool, std::function<rte_ring*(uint16_t port)> ring_of)
        : pool_(pool), ring_of_(std::move(ring_of)) {}

    /// A packet of ours with these bytes, counted as originated at `port`; null where the pool is
    /// empty or its buffers are too short.
    [[nodiscard]] rte_mbuf* originate(uint16_t port, std::span<const uint8_t> frame) noexcept;
    /// The same, sent.
    /// domain  by a bridge's member: of which domain it is
    void originate_and_send(const datapath::way_out& by, std::span<const uint8_t> frame,
                            uint16_t domain = 0) noexcept;

    /// Send a whole frame; its private area says nothing any more but the way.
    void send(rte_mbuf* packet, const datapath::way_out& by, uint16_t domain = 0) noexcept;
    /// Send an IP packet by a hop: its addresses over the first bytes, and the type.
    void send_by(rte_mbuf* packet, const datapath::next_hop& hop) noexcept;

    /// Free under a reason; the packet was received (or originated) at `port`.
    void drop(rte_mbuf* packet, uint16_t port, packet::drop_reason why) noexcept;
    /// Free what was for us.
    void consume(rte_mbuf* packet, uint16_t port) noexcept;
    /// A request became its own reply: consumed, and originated.
    void turn_around(uint16_t port) noexcept;

    [[nodiscard]] const cost::port_counters& port(uint16_t place) const noexcept {
        return counters_[place];
    }

  private:
    rte_mempool* pool_;
    std::function<rte_ring*(uint16_t)> ring_of_;
    std::array<cost::port_counters, datapath::max_ports> counters_;
};

/// A packet in control's hands. Whoever ends it says how; where an exception passes (no memory), it
/// is dropped as control_memory.
class packet_in_hand {
  public:
    packet_in_hand(rte_mbuf* m, outlet& out) noexcept : m_(m), out_(out) {}
    ~packet_in_hand() {
        if (m_ != nullptr) drop(packet::drop_reason::control_memory);
    }
    packet_in_hand(packet_in_hand&& other) noexcept
        : m_(std::exchange(other.m_, nullptr)), out_(other.out_) {}
    packet_in_hand(const packet_in_hand&) = delete;
    packet_in_hand& operator=(const packet_in_hand&) = delete;

    [[nodiscard]] rte_mbuf* get() const noexcept { return m_; }
    [[nodiscard]] const datapath::punted& about() const noexcept { return datapath::punted_of(m_); }
    [[nodiscard]] std::span<uint8_t> lead() const noexcept {
        return {rte_pktmbuf_mtod(m_, uint8_t*), m_->data_len};
    }
    void drop(packet::drop_reason why) noexcept {
        const uint16_t port = about().in_port;
        out_.drop(release(), port, why);
    }
    void consume() noexcept {
        const uint16_t port = about().in_port;
        out_.consume(release(), port);
    }
    void send(const datapath::way_out& by) noexcept { out_.send(release(), by); }
    /// It is somebody else's now.
    rte_mbuf* release() noexcept { return std::exchange(m_, nullptr); }

  private:
    rte_mbuf* m_;
    outlet& out_;
};

}  // namespace turnpike::control
