// SPDX-License-Identifier: BSD-3-Clause
// TX path of control: hands packets that control originates or releases to the worker that sends them, by
// the worker's ring. Control never calls tx_burst on a worker's queue.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "counters/port_counters.hpp"
#include "datapath/burst.hpp"
#include "datapath/capture.hpp"
#include "datapath/snapshot.hpp"
#include "datapath/trace.hpp"
#include "datapath/vlan_tag.hpp"

struct rte_mempool;
struct rte_ring;

namespace turnpike::control {

/// Threads  control. Errors none: a packet that cannot be sent is dropped with a reason.
class control_tx {
  public:
    /// ring_of  ring to a worker that can send by the egress; null: none
    control_tx(rte_mempool* pool, std::function<rte_ring*(const datapath::egress&)> ring_of)
        : pool_(pool), ring_of_(std::move(ring_of)) {}

    /// A packet of these bytes, in as many segments as it needs, counted as originated at `port`; null: the pool
    /// is exhausted.
    [[nodiscard]] rte_mbuf* originate(uint16_t port, std::span<const uint8_t> frame) noexcept;
    /// Capacity of one segment.
    [[nodiscard]] uint32_t segment_bytes() const noexcept;
    /// Originate a frame and send it.
    /// domain  broadcast domain, where the egress interface is a bridge member
    void originate_and_send(const datapath::egress& by, std::span<const uint8_t> frame,
                            uint16_t domain = 0) noexcept;

    /// Send a complete frame; sets egress and domain, and keeps the rest of its metadata, such as `mtu`.
    void send(rte_mbuf* packet, const datapath::egress& by, uint16_t domain = 0) noexcept;
    /// Send an IP packet by a next hop: writes MAC addresses and EtherType.
    void send_by(rte_mbuf* packet, const datapath::next_hop& nexthop) noexcept;

    /// Free a packet under a drop reason, at the port where it was received or originated.
    /// tag  the tag that was removed from its frame
    void drop(rte_mbuf* packet, uint16_t port, datapath::drop_reason why,
              uint32_t tag = datapath::no_tag) noexcept;
    /// Free a punted packet.
    void drop_punted(rte_mbuf* packet, datapath::drop_reason why) noexcept {
        const datapath::punted& about = datapath::punted_of(packet);
        drop(packet, about.in_port, why, about.tag);
    }
    /// Free packets of a port's receive ring that no worker polls: counted as received, and dropped.
    void drop_received(uint16_t port, std::span<rte_mbuf* const> packets,
                       datapath::drop_reason why) noexcept;
    /// Free a packet to us after it was handled.
    void consume(rte_mbuf* packet, uint16_t port) noexcept;
    /// Count a request that became its reply: consumed and originated.
    void reply_in_place(uint16_t port) noexcept;

    /// Notify sFlow of dropped packets; null: none.
    void sample_drops_in(datapath::samplers* to) noexcept { sampling_ = to; }
    /// Copy dropped packets for these captures; null: none.
    void capture_for(const datapath::capture_tap* tap) noexcept { tap_ = tap; }

    /// Record dropped packets; null: no trace.
    void trace_drops_in(datapath::trace_buffer* buffer) noexcept { trace_ = buffer; }

    [[nodiscard]] const counters::port_counters& port(uint16_t port_index) const noexcept {
        return counters_[port_index];
    }

  private:
    rte_mempool* pool_;
    std::function<rte_ring*(const datapath::egress&)> ring_of_;
    std::array<counters::port_counters, datapath::max_ports> counters_;
    const datapath::capture_tap* tap_ = nullptr;
    datapath::samplers* sampling_ = nullptr;
    datapath::trace_buffer* trace_ = nullptr;
};

/// Owner of a punted packet during its handler. The handler sends, drops or consumes it; if an
/// exception passes (out of memory), the destructor drops it as control_memory.
class owned_mbuf {
  public:
    owned_mbuf(rte_mbuf* m, control_tx& out) noexcept : m_(m), out_(out) {}
    ~owned_mbuf() {
        if (m_ != nullptr) drop(datapath::drop_reason::control_memory);
    }
    owned_mbuf(owned_mbuf&& other) noexcept
        : m_(std::exchange(other.m_, nullptr)), out_(other.out_) {}
    owned_mbuf(const owned_mbuf&) = delete;
    owned_mbuf& operator=(const owned_mbuf&) = delete;

    [[nodiscard]] rte_mbuf* get() const noexcept { return m_; }
    [[nodiscard]] const datapath::punted& about() const noexcept { return datapath::punted_of(m_); }
    [[nodiscard]] std::span<uint8_t> lead() const noexcept {
        return {rte_pktmbuf_mtod(m_, uint8_t*), m_->data_len};
    }
    void drop(datapath::drop_reason why) noexcept { out_.drop_punted(release(), why); }
    void consume() noexcept {
        const uint16_t port = about().in_port;
        out_.consume(release(), port);
    }
    void send(const datapath::egress& by) noexcept { out_.send(release(), by); }
    /// Give up ownership.
    rte_mbuf* release() noexcept { return std::exchange(m_, nullptr); }

  private:
    rte_mbuf* m_;
    control_tx& out_;
};

}  // namespace turnpike::control
