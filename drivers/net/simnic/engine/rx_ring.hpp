// SPDX-License-Identifier: BSD-3-Clause
// The device's side of a receive queue: prefetch descriptors, fill buffers in order, write back.
//
//   0 ........ answered ........ filled ........ fetched ........ tail ........ size
//     host's          answer waits      on the chip      posted, not fetched
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "engine/bus.hpp"
#include "policy.hpp"

namespace turnpike::simnic {

struct rx_ring_settings {
    uint64_t iova = 0;  ///< the ring's address
    uint32_t size = 0;  ///< descriptors, a multiple of 32
    uint32_t buffer_bytes = 0;
    bool scatter = false;  ///< a frame longer than a buffer uses several
    bool timestamps =
        false;  ///< word 2 of a write-back (32-byte descriptors) has the arrival time in TSC cycles
    tail_register* tail = nullptr;
};

/// A frame from the wire, parsed by the device.
struct incoming {
    const uint8_t* bytes;
    uint32_t length;
    uint32_t ptype;
    uint32_t queue;
    uint32_t status;  ///< write-back status: checksums, rx_hashed
    uint32_t hash;
    uint32_t tag;  ///< with rx_stripped: the VLAN tag, omitted from the buffer
};

/// Threads  the engine's lock; counters may be read by any.
class rx_ring {
  public:
    rx_ring(const rx_policy& p, bus& b) noexcept : policy_(p), bus_(b) {}

    void attach(const rx_ring_settings& s) noexcept;
    void detach() noexcept { attach({}); }

    /// Fill buffers and write back their descriptors until no buffer is left; returns how many
    /// frames fit.
    ///
    /// frames  at most frame_batch
    uint32_t receive(std::span<const incoming> frames) noexcept;

    /// The wire is idle: write back without waiting for a batch to fill.
    void flush() noexcept { write_back(true); }

    counters::counter packets{}, bytes{}, errors{}, bad_tail{};

  private:
    uint32_t receive_whole(std::span<const incoming> frames) noexcept;
    bool receive_scattered(const incoming& frame) noexcept;
    bool fetch() noexcept;
    uint32_t posted() const noexcept;
    descriptor fill(uint64_t buffer, const incoming& frame) noexcept;
    void write_back(bool all) noexcept;
    void write_answers(const descriptor* answers, uint32_t count, bool singly) noexcept;
    uint32_t answers_wanted() noexcept;

    const rx_policy policy_;
    bus& bus_;
    rx_ring_settings settings_{};
    uint32_t next_fetch_ = 0;  // ring index
    uint32_t fetched_ = 0;     // in the device
    uint32_t chip_at_ = 0;     // the next of them to use
    std::array<uint64_t, max_fetched> chip_{};
    uint32_t answer_at_ = 0;  // ring index of the first pending write-back
    uint32_t waiting_ = 0, wanted_ = 1;
    double line_share_ = 0;
    std::array<descriptor, 2 * max_fetched> answers_{};
    std::array<uint64_t, 2 * max_fetched> stamps_{};
};

}  // namespace turnpike::simnic
