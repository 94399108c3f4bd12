// SPDX-License-Identifier: BSD-3-Clause
// Packet capture: copies of packets as received, as handed to a TX queue, or as dropped, for a thread that writes them
// (control/forwarding/capture_writer.hpp). While a capture is on, bursts pass through captured_table, the same stages with copying
// before rx, tx and drop, and stage punt copies packets for control; otherwise it costs nothing beyond the comparison for traces.
//
//   worker, control --capture::record()--> capture_ring of the producer --> writer thread --> file, pipe, socket
//
// A producer waits for nothing: a full ring loses the copy and counts it.
#pragma once

#include <pcap/pcap.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/cache_line.hpp"
#include "datapath/graph.hpp"

namespace turnpike::datapath {

enum class capture_point : uint8_t { in, out, drop, punt };

/// The path of a sampled packet through the router, as far as it is known.
struct sampled_path {
    enum class end : uint8_t {
        unknown,   ///< consumed by a stage
        sent,      ///< by port `out`
        flooded,   ///< by `out` > 1 members of a bridge
        dropped,   ///< for capture_record::why
        to_router  ///< to one of its addresses, or to its control plane
    };
    static constexpr uint16_t no_port = UINT16_MAX;

    uint16_t in = no_port;  ///< ingress port; no_port: originated by the router
    uint16_t out = 0;
    end how = end::unknown;
};

/// One copy in a ring; `kept` bytes of the frame follow.
struct capture_record {
    uint64_t tsc = 0;         ///< when it was copied
    uint64_t timestamp = 0;   ///< by the clock of its ingress port's device, if `stamped`
    uint32_t ring_bytes = 0;  ///< of this record, padded
    uint32_t frame_bytes = 0, kept = 0;
    uint16_t port = 0;
    bool stamped = false;  ///< the device stamped the received packet
    capture_point point = capture_point::in;
    drop_reason why = drop_reason::none;
    punt_reason punted = punt_reason::local;  ///< at capture_point::punt
    sampled_path path{};                      ///< of samples

    [[nodiscard]] uint8_t* bytes() noexcept { return reinterpret_cast<uint8_t*>(this + 1); }
    [[nodiscard]] const uint8_t* bytes() const noexcept {
        return reinterpret_cast<const uint8_t*>(this + 1);
    }
};

/// Records of variable length between one producer and one consumer.
class capture_ring {
  public:
    static constexpr size_t alignment = 8;
    /// bytes  a power of two, at least twice a record: then an empty ring takes it, wherever it begins
    explicit capture_ring(size_t bytes);

    // Producer.
    /// Room for a record with `kept` bytes, behind earlier records that are not committed yet; null: the ring is full. The
    /// caller fills it, and commits all.
    [[nodiscard]] capture_record* reserve(uint32_t kept) noexcept;
    void commit() noexcept { head_.store(next_, std::memory_order_release); }

    // Consumer.
    /// The oldest record; null: none. Valid until pop().
    [[nodiscard]] const capture_record* front() const noexcept;
    void pop() noexcept;

  private:
    [[nodiscard]] uint8_t* at(uint64_t position) const noexcept {
        return bytes_.get() + (position & (size_ - 1));
    }
    const size_t size_;
    const std::unique_ptr<uint8_t[]> bytes_;  ///< not initialised: unused pages take no memory
    uint64_t next_ = 0;                       ///< producer's: behind the reserved records
    alignas(cache_line_bytes) std::atomic<uint64_t> head_{0};
    alignas(cache_line_bytes) mutable std::atomic<uint64_t> tail_{0};
};

/// Selects the packets of a capture.
struct capture_filter {
    bool in = true, out = true, drops = false;
    bool control = false;              ///< in and out: only packets for control, and of control
    std::optional<drop_reason> why{};  ///< drops of this reason only
    std::optional<uint16_t> vlan{};    ///< outermost tag's VLAN ID
    std::vector<bpf_insn> program{};   ///< empty: all
    uint32_t snaplen = 65535;
};

/// Threads  record(): one per producer; the rest: any
class capture {
  public:
    static constexpr size_t ring_bytes = size_t{4} << 20;
    static constexpr uint32_t max_frame_bytes = 65535;

    /// producers  number of rings
    capture(capture_filter f, packet_mask ports, size_t producers);

    /// Copy a packet that passes the filter.
    /// tag  TPID and TCI that was removed from the frame, and is put back; 0: none
    void record(size_t producer, const rte_mbuf* m, uint16_t port, uint64_t tsc, capture_point at,
                drop_reason why = drop_reason::none, uint32_t tag = 0,
                punt_reason punted = punt_reason::local) noexcept;

    [[nodiscard]] bool wants(capture_point at) const noexcept {
        switch (at) {
            case capture_point::drop:
                return filter_.drops;
            case capture_point::in:
                return filter_.in && !filter_.control;
            case capture_point::punt:
                return filter_.in && filter_.control;
            default:
                return filter_.out;
        }
    }
    [[nodiscard]] packet_mask ports() const noexcept {
        return ports_.load(std::memory_order_acquire);
    }
    void add_ports(packet_mask more) noexcept { ports_.fetch_or(more, std::memory_order_release); }
    void remove_ports(packet_mask gone) noexcept {
        ports_.fetch_and(~gone, std::memory_order_relaxed);
    }
    [[nodiscard]] const capture_filter& filter() const noexcept { return filter_; }

    struct counts {
        uint64_t seen = 0, accepted = 0, lost = 0;
        counts& operator+=(const counts& o) noexcept {
            seen += o.seen;
            accepted += o.accepted;
            lost += o.lost;
            return *this;
        }
        [[nodiscard]] counts operator-(const counts& o) const noexcept {
            return {seen - o.seen, accepted - o.accepted, lost - o.lost};
        }
    };
    /// Totals of all producers for a port.
    [[nodiscard]] counts counted(uint16_t port) const noexcept;
    [[nodiscard]] size_t producers() const noexcept { return rings_.size(); }
    [[nodiscard]] capture_ring& ring(size_t number) noexcept { return rings_[number]->ring; }

  private:
    struct port_counts {
        counters::counter seen, accepted, lost;
    };
    struct producer_state {
        capture_ring ring{ring_bytes};
        std::array<port_counts, max_ports> counted{};
        std::array<uint8_t, max_frame_bytes> scratch;
    };
    [[nodiscard]] bool passes(const uint8_t* bytes, uint32_t n) const noexcept;

    const capture_filter filter_;
    /// Field and flag of mbufs for RX timestamps; flag 0: there is no room for them.
    int timestamp_at_ = 0;
    uint64_t timestamp_flag_ = 0;
    std::atomic<packet_mask> ports_;
    std::vector<std::unique_ptr<producer_state>> rings_;
};

/// Rings of the producers: control has the first.
inline constexpr size_t control_producer = 0;
constexpr size_t producer_of(uint32_t worker) noexcept { return worker + size_t{1}; }

/// The captures that are on. Published to workers as a whole.
struct capture_tap {
    static constexpr size_t max_captures = 4;
    std::array<capture*, max_captures> on{};  ///< the first `count`
    size_t count = 0;
};

/// Copy packets that a stage is about to take; only rx, tx and drop do.
/// Requires  c.captured
void copy_for_captures(context& c, const burst& b, stage at, packet_mask packets) noexcept;
/// Copy a packet that is about to be enqueued for control.
/// Requires  c.captured
void copy_punted(const context& c, const burst& b, uint32_t i) noexcept;
/// Copy packets that the driver refused.
void copy_refused(const capture_tap& tap, size_t producer, uint16_t port, rte_mbuf* const* packets,
                  uint16_t n) noexcept;

/// The stages, with copies for c.captured.
extern const std::array<stage_row, stages> captured_table;

}  // namespace turnpike::datapath
