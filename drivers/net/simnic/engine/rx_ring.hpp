// SPDX-License-Identifier: BSD-3-Clause
// One receive queue as the device sees it: fetch descriptors ahead, fill buffers in order, answer.
//
//   0 ........ answered ........ filled ........ fetched ........ tail ........ size
//     host's          answer waits      on the chip      posted, not fetched
#pragma once

#include <array>
#include <cstdint>

#include "engine/bus.hpp"
#include "policy.hpp"

namespace turnpike::simnic {

struct rx_ring_settings {
    uint64_t iova = 0;  ///< of the ring
    uint32_t size = 0;  ///< descriptors, a multiple of 32
    uint32_t buffer_bytes = 0;
    tail_register* tail = nullptr;
};

/// Threads  the engine's lock; counters may be read by any.
class rx_ring {
  public:
    rx_ring(const rx_policy& p, bus& b) noexcept : policy_(p), bus_(b) {}

    void attach(const rx_ring_settings& s) noexcept;
    void detach() noexcept { settings_ = {}; }
    [[nodiscard]] bool attached() const noexcept { return settings_.size != 0; }

    /// Is there a descriptor for a frame? Fetches where none is on the chip.
    [[nodiscard]] bool ready() noexcept { return fetched_ != 0 || fetch(); }

    /// Fill the next buffer and answer its descriptor. Requires ready().
    void receive(const uint8_t* frame, uint32_t bytes, uint16_t ptype, uint32_t status) noexcept;

    /// The wire has nothing more for now: answers do not wait for company.
    void flush() noexcept { write_back(); }

    cost::counter packets{}, bytes{}, errors{}, bad_tail{};

  private:
    bool fetch() noexcept;
    void write_back() noexcept;
    uint32_t answers_wanted() noexcept;

    const rx_policy policy_;
    bus& bus_;
    rx_ring_settings settings_{};
    uint32_t next_fetch_ = 0;  // ring index
    uint32_t fetched_ = 0;     // on the chip, unused
    uint32_t chip_at_ = 0;     // the next of them
    std::array<uint64_t, most_fetched> chip_{};
    uint32_t answer_at_ = 0;  // ring index of the first answer that waits
    uint32_t waiting_ = 0, wanted_ = 1;
    double line_share_ = 0;
    std::array<descriptor, 64> answers_{};
};

}  // namespace turnpike::simnic
