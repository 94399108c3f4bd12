// SPDX-License-Identifier: BSD-3-Clause
// Packet samples for sFlow: one received packet of n of each port, and dropped packets with their reasons, as records in a
// ring of each producer, which the exporter's thread reads (control/forwarding/sflow_export.hpp). Without sFlow, stage sample is in no path.
//
//   rx -> [sample] -> ...      drop
//          v                    v
//        sampler of the worker --ring--> thread of the exporter
//
// A worker waits for nothing: a sample that finds the ring full is lost, and counted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "counters/counter.hpp"
#include "datapath/capture.hpp"

namespace turnpike::datapath {

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
    /// tag_type  TPID of a tag that the device stripped
    void take_received(const burst& b, packet_mask packets, uint16_t tag_type,
                       uint64_t now) noexcept;
    void take_dropped(const burst& b, packet_mask packets, uint64_t now) noexcept;
    /// tag  TPID and TCI that was removed from the frame; 0: none
    void take_dropped(const rte_mbuf* m, uint16_t port, drop_reason why, uint32_t tag,
                      uint64_t now) noexcept;

    [[nodiscard]] capture_ring& ring() noexcept { return ring_; }
    /// Packets of a port from which samples were taken.
    [[nodiscard]] uint64_t pool(uint16_t port) const noexcept { return pool_[port].read(); }
    /// Samples without room in the ring; and dropped packets without a notification.
    [[nodiscard]] uint64_t lost_samples() const noexcept { return lost_.read(); }
    [[nodiscard]] uint64_t lost_drops() const noexcept { return lost_drops_.read(); }

  private:
    /// Packets to the next sample, drawn so that their mean is one_in: equal gaps would miss periodic traffic.
    uint32_t next_gap() noexcept;
    bool put(const rte_mbuf* m, uint16_t port, uint64_t now, capture_point at, drop_reason why,
             uint32_t tag) noexcept;
    bool may_notify(uint64_t now) noexcept;

    const sampling_limits limits_;
    uint64_t random_;
    std::array<uint32_t, max_ports> left_{};  ///< packets to the next sample, by port
    uint32_t notified_ = 0;                   ///< drops in this second
    uint64_t second_begun_ = 0;
    std::array<counters::counter, max_ports> pool_{};
    counters::counter lost_, lost_drops_;
    capture_ring ring_;
};

struct samplers {
    std::vector<std::unique_ptr<sampler>> of_producer{};  ///< by producer_of()
};

}  // namespace turnpike::datapath
