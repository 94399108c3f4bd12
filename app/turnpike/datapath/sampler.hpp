// SPDX-License-Identifier: BSD-3-Clause
// Packet samples for sFlow: one received or sent packet of n of each port, and dropped packets with their reasons, as records
// in a ring of each producer, which the exporter's thread reads (control/forwarding/sflow_export.hpp). Without sFlow, stages
// sample_in and sample_out are in no path.
//
//   rx -> [sample_in] -> ... -> [sample_out] -> tx     drop
//              v                      v                 v
//            sampler of the worker --ring--> thread of the exporter
//
// The sample of a received packet has the header as received, and waits in the ring, not committed, for the end of the
// packet's path, which stage tx, flood, punt or drop adds; the worker commits the records when the burst is processed.
// A worker waits for nothing: a sample that finds the ring full is lost, and counted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "counters/counter.hpp"
#include "datapath/capture.hpp"

namespace turnpike::datapath {

struct snapshot;

struct sampling_limits {
    uint32_t one_in = 0;        ///< 0: no samples
    uint32_t header_bytes = 0;  ///< of a record
    uint32_t drops_per_s = 0;   ///< of each worker; 0: no notifications
    uint64_t tsc_hz = 0;
};

/// The samples of one worker, or of control, which has drops only.
/// Threads  one producer; ring()'s consumer; counters: any
class sampler {
  public:
    static constexpr size_t ring_bytes = size_t{1} << 18;
    sampler(const sampling_limits& limits, uint64_t seed)
        : limits_(limits), random_(seed | 1), ring_(ring_bytes) {
        for (uint32_t& left : left_) left = next_gap();
    }

    /// Packets as received.
    /// Answers  whether samples wait for the ends of their paths: the caller sets context::awaiting, and later commits
    bool sample_received(const burst& b, packet_mask packets, uint64_t now) noexcept;
    /// Packets that are about to be sent by a port.
    /// in_port_of(i)  ingress port, or sampled_path::no_port
    template <class InPortOf>
    void sample_sent(const burst& b, packet_mask packets, uint16_t port, uint64_t now,
                     const InPortOf& in_port_of) noexcept;
    void sample_dropped(const snapshot& v, const burst& b, packet_mask packets,
                        uint64_t now) noexcept;
    /// tag  TPID and TCI that was removed from the frame; 0: none
    void sample_dropped(const rte_mbuf* m, uint16_t port, drop_reason why, uint32_t tag,
                        uint64_t now) noexcept;

    // The ends of the paths of sampled packets, the first of which counts.
    void end_sent(const burst& b, packet_mask packets) noexcept;
    void end_dropped(const burst& b, packet_mask packets) noexcept;
    void end_punted(const burst& b, packet_mask packets) noexcept;
    /// members  to which a bridge sends each of the packets
    void end_flooded(const burst& b, packet_mask packets, uint16_t members) noexcept;
    /// Copies left by a port, and the packets themselves go to the router, which may have no use for them.
    void end_copied(const burst& b, packet_mask packets, uint16_t port) noexcept;
    /// Hand all records to the consumer: no packet is awaited any more.
    void commit() noexcept;

    [[nodiscard]] capture_ring& ring() noexcept { return ring_; }
    /// Packets that a port received or sent, from which samples were taken.
    [[nodiscard]] uint64_t pool(uint16_t port) const noexcept { return pool_[port].read(); }
    /// Samples without room in the ring; and dropped packets without a notification.
    [[nodiscard]] uint64_t lost_samples() const noexcept { return lost_.read(); }
    [[nodiscard]] uint64_t lost_drops() const noexcept { return lost_drops_.read(); }

  private:
    /// Packets to the next sample, drawn so that their mean is one_in: equal gaps would miss periodic traffic.
    uint32_t next_gap() noexcept;
    /// Packets to sample, among packets that a port received or sends.
    packet_mask choose(packet_mask packets, uint16_t port) noexcept;
    /// A record with the packet's header; null: the ring is full.
    /// tag  TPID and TCI of a tag behind the MAC addresses that is not in the frame; 0: none
    [[nodiscard]] capture_record* copy(const rte_mbuf* m, uint64_t now, uint32_t tag) noexcept;
    void commit_unless_awaiting() noexcept {
        if (!uncommitted_) ring_.commit();
    }
    template <class EndOf>
    void end(const burst& b, packet_mask packets, const EndOf& end_of) noexcept;
    bool may_notify(uint64_t now) noexcept;

    const sampling_limits limits_;
    uint64_t random_;
    std::array<uint32_t, max_ports> left_{};  ///< packets to the next sample, by port
    uint32_t notified_ = 0;                   ///< drops in this second
    uint64_t second_begun_ = 0;
    struct awaited {
        const rte_mbuf* packet;
        capture_record* record;
    };
    std::array<awaited, burst_max> awaited_{};
    uint32_t awaiting_ =
        0;  ///< packets of the burst whose path has not ended: the first of awaited_
    bool uncommitted_ = false;  ///< records of the burst wait for commit()
    std::array<counters::counter, max_ports> pool_{};
    counters::counter lost_, lost_drops_;
    capture_ring ring_;
};

struct samplers {
    std::vector<std::unique_ptr<sampler>> of_producer{};  ///< by producer_of()
};

}  // namespace turnpike::datapath
