// SPDX-License-Identifier: BSD-3-Clause
// Packet trace: the stages that a single packet went through, and the packet's state behind each. While a
// trace is requested, packets pass one at a time through traced_table, the same stages with recording;
// otherwise a trace costs one comparison per burst.
//
//   control: trace_buffer --> worker::trace_in() --> traced_table --> packet_trace --> control, by the book
//   control: a synthetic frame --> explain() --> explained_table --> packet_trace
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <span>
#include <vector>

#include "datapath/graph.hpp"
#include "net/ip.hpp"

namespace turnpike::datapath {

/// One stage's run for the packet, or for copies or fragments of it.
struct trace_step {
    stage ran = stage::rx;
    uint8_t pass = 1;
    /// 0: the packet itself; from 1: set of copies or fragments that travel together
    uint8_t copy = 0;
    uint8_t packets = 1;          ///< number of packets in the set
    uint16_t in = 0;              ///< stage iface_input: the ingress interface
    uint16_t domain = 0;          ///< stage bridge
    uint32_t nexthop = 0;         ///< stage lookup
    std::optional<egress> out{};  ///< egress interface, where the packet is to be sent
    /// stage drop; stage punt: reason of the ICMP error
    drop_reason drop = drop_reason::none;
    punt_reason punt = punt_reason::count_;  ///< stage punt
};

struct packet_trace {
    static constexpr size_t max_steps = 48, max_bytes = 128;
    /// The first bytes of a frame.
    struct lead {
        uint32_t frame_bytes = 0;  ///< length of the whole frame; 0: no frame
        uint16_t kept = 0;
        std::array<uint8_t, max_bytes> bytes;

        void record(const rte_mbuf* m) noexcept;
        [[nodiscard]] std::span<const uint8_t> span() const noexcept {
            return {bytes.data(), kept};
        }
    };

    uint64_t tsc = 0;  ///< start of the worker's iteration
    uint16_t port = 0, queue = 0;
    uint8_t steps = 0, copies = 0;
    bool truncated = false;  ///< the trace has more steps than fit
    std::array<trace_step, max_steps> step;
    lead received, sent;  ///< as received; as sent (the packet itself, not copies)

    void begin(uint64_t now, const rx_queue& from, const rte_mbuf* m) noexcept;
    /// The trace of a packet that control drops: one step.
    void begin_drop(uint64_t now, uint16_t in_port, const rte_mbuf* m, drop_reason why) noexcept;
    [[nodiscard]] std::span<const trace_step> path() const noexcept { return {step.data(), steps}; }
    /// Whether the packet or a copy of it was dropped, or punted for an ICMP error.
    [[nodiscard]] bool dropped() const noexcept;
};

/// The filter of a trace request.
struct trace_filter {
    uint32_t packets = 0;                 ///< per worker
    std::optional<uint16_t> port{};       ///< ingress port: index
    std::optional<ip_address> address{};  ///< source or destination in the outermost IP header
    bool dropped = false;                 ///< dropped packets only

    [[nodiscard]] bool matches(const packet_trace& t) const noexcept;
};

/// Addresses of a frame's outermost IP header, behind up to two VLAN tags. Not validated.
struct ip_ends {
    ip_address source, destination;
    uint8_t protocol = 0;             ///< IPv6: the first next header
    std::span<const uint8_t> rest{};  ///< the available bytes behind the header
};
/// Answers  none where the frame has no complete IP header
[[nodiscard]] std::optional<ip_ends> ip_ends_of(std::span<const uint8_t> frame) noexcept;

/// The traces of one worker, or of the drops of control.
/// Threads  the worker or control writes, control reads.
class trace_buffer {
  public:
    explicit trace_buffer(const trace_filter& filter)
        : filter_(filter), pages_(filter.packets + 1) {}

    // For the writer.
    [[nodiscard]] bool wants(uint16_t port) const noexcept {
        return written_.load(std::memory_order_relaxed) < filter_.packets &&
               filter_.port.value_or(port) == port;
    }
    /// The trace to write next; there is always one.
    [[nodiscard]] packet_trace& next() noexcept {
        return pages_[written_.load(std::memory_order_relaxed)];
    }
    /// End the current trace; keep it if it matches the filter.
    void end() noexcept {
        const uint32_t n = written_.load(std::memory_order_relaxed);
        if (n < filter_.packets && filter_.matches(pages_[n]))
            written_.store(n + 1, std::memory_order_release);
    }

    // For control.
    [[nodiscard]] std::span<const packet_trace> written() const noexcept {
        return {pages_.data(), written_.load(std::memory_order_acquire)};
    }

  private:
    const trace_filter filter_;
    std::vector<packet_trace> pages_;
    std::atomic<uint32_t> written_{0};
};

/// The stages, with recording in context::traced.
extern const std::array<stage_row, stages> traced_table;
/// The same for a synthetic packet: nothing is sent or punted, and stage ip_fast passes every packet
/// to the slow path, which records more.
extern const std::array<stage_row, stages> explained_table;

}  // namespace turnpike::datapath
