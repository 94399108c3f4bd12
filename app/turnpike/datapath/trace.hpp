// SPDX-License-Identifier: BSD-3-Clause
// The way of single packets: the stages that each went through, and what was known behind each. While somebody
// wants to know, packets walk one at a time by a table of the same stages that write down what they did
// (traced_table); else nothing of this is there but a comparison a burst.
//
//   control: trace_book --> worker::trace_in() --> traced_table --> packet_trace --> control, by the book
//   control: a frame that nobody sent --> explain() --> explained_table --> packet_trace
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <span>
#include <vector>

#include "datapath/graph.hpp"
#include "net/ip.hpp"

namespace turnpike::datapath {

/// What a stage did with the packet, or with one of those that were made of it.
struct trace_step {
    stage ran = stage::rx;
    uint8_t pass = 1;
    uint8_t copy =
        0;  ///< 0: the packet itself; else copies or pieces of it that go one way, from 1 on
    uint8_t packets = 1;           ///< how many they are
    uint16_t in = 0;               ///< stage interface: which it is
    uint16_t domain = 0;           ///< stage bridge
    uint32_t hop = 0;              ///< stage lookup
    std::optional<way_out> out{};  ///< it goes on to be sent: by which interface
    packet::drop_reason drop =
        packet::drop_reason::none;           ///< stage drop; stage punt: its sender is told of it
    punt_reason punt = punt_reason::count_;  ///< stage punt
};

struct packet_trace {
    static constexpr size_t most_steps = 48, most_bytes = 128;
    /// A packet's first bytes.
    struct lead {
        uint32_t frame_bytes = 0;  ///< of the whole frame; 0: there is none
        uint16_t kept = 0;
        std::array<uint8_t, most_bytes> bytes;

        void take(const rte_mbuf* m) noexcept;
        [[nodiscard]] std::span<const uint8_t> span() const noexcept {
            return {bytes.data(), kept};
        }
    };

    uint64_t tsc = 0;  ///< when its round began
    uint16_t port = 0, queue = 0;
    uint8_t steps = 0, copies = 0;
    bool cut = false;  ///< there were more steps than are here
    std::array<trace_step, most_steps> step;
    lead came, left;  ///< left: as the packet itself was sent

    void begin(uint64_t now, const rx_queue& from, const rte_mbuf* m) noexcept;
    [[nodiscard]] std::span<const trace_step> way() const noexcept { return {step.data(), steps}; }
    /// It, or one that was made of it, was dropped or is to be told of.
    [[nodiscard]] bool dropped() const noexcept;
};

/// Not of count_.
[[nodiscard]] std::string_view name(punt_reason why) noexcept;

/// Which packets are wanted.
struct trace_wish {
    uint32_t packets = 0;                 ///< of each worker
    std::optional<uint16_t> port{};       ///< came in by that one; place
    std::optional<ip_address> address{};  ///< are from it or to it: in the outermost IP header
    bool dropped = false;                 ///< were dropped

    [[nodiscard]] bool wants(const packet_trace& t) const noexcept;
};

/// What a frame's outermost IP header says, behind up to two VLAN tags. Not checked.
struct ip_ends {
    ip_address source, destination;
    uint8_t protocol = 0;             ///< IPv6: the first next header
    std::span<const uint8_t> rest{};  ///< behind the header, as far as it is there
};
/// Nothing: it has none, or not the whole of it is there.
[[nodiscard]] std::optional<ip_ends> ip_ends_of(std::span<const uint8_t> frame) noexcept;

/// What one worker writes down.
/// Threads  the worker writes, control reads.
class trace_book {
  public:
    explicit trace_book(const trace_wish& wish) : wish_(wish), pages_(wish.packets + 1) {}

    // The worker.
    [[nodiscard]] bool wants(uint16_t port) const noexcept {
        return written_.load(std::memory_order_relaxed) < wish_.packets &&
               wish_.port.value_or(port) == port;
    }
    /// To be written; there is always one.
    [[nodiscard]] packet_trace& next() noexcept {
        return pages_[written_.load(std::memory_order_relaxed)];
    }
    /// That one has ended.
    void end() noexcept {
        const uint32_t n = written_.load(std::memory_order_relaxed);
        if (n < wish_.packets && wish_.wants(pages_[n]))
            written_.store(n + 1, std::memory_order_release);
    }

    // Control.
    [[nodiscard]] std::span<const packet_trace> written() const noexcept {
        return {pages_.data(), written_.load(std::memory_order_acquire)};
    }

  private:
    const trace_wish wish_;
    std::vector<packet_trace> pages_;
    std::atomic<uint32_t> written_{0};
};

/// The stages, each with what it writes in context::traced.
extern const std::array<stage_row, stages> traced_table;
/// The same for a packet that nobody sent: nothing leaves, nothing reaches control, and what is plain goes the
/// careful way, which says more.
extern const std::array<stage_row, stages> explained_table;

}  // namespace turnpike::datapath
