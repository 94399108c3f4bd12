// SPDX-License-Identifier: BSD-3-Clause
// The device's side of a transmit queue: fetch descriptors, gather a frame's segments, insert
// checksums, send the frame on the wire, write back.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/bus.hpp"
#include "policy.hpp"

namespace turnpike::simnic {

struct tx_ring_settings {
    uint64_t iova = 0;
    uint32_t size = 0;
    tail_register* tail = nullptr;
};

/// A frame to send. (No initialisers: arrays of it are only partly filled.)
struct outgoing {
    const uint8_t* bytes;
    uint32_t length;
};

/// Maximum frames per call between rings and wires.
inline constexpr uint32_t frame_batch = 32;

/// Threads  the engine's lock; counters may be read by any.
class tx_ring {
  public:
    tx_ring(const tx_policy& p, bus& b);

    void attach(const tx_ring_settings& s) noexcept;
    void detach() noexcept { attach({}); }

    /// Get the next complete frames, in order; returns how many. They are valid until done().
    ///
    /// patient  wait for a fetch batch to fill, if the policy does
    uint32_t next(bool patient, std::span<outgoing> into) noexcept;
    /// The frames of next() were sent.
    void done() noexcept;
    /// Write back without waiting for a batch to fill.
    void flush() noexcept { write_back(); }
    /// The host has posted descriptors not fetched yet, or fetched ones are not complete.
    [[nodiscard]] bool busy() const noexcept;
    /// Returns whether the tail moved since the last call.
    [[nodiscard]] bool tail_moved() noexcept;
    [[nodiscard]] bool answers_wait() const noexcept { return waiting_ != 0; }

    counters::counter packets{}, bytes{}, errors{}, bad_descriptors{}, bad_tail{};

  private:
    bool fetch(bool patient) noexcept;
    uint32_t fetch_simple(std::span<outgoing> into) noexcept;
    outgoing gather(const descriptor& d) noexcept;
    outgoing finish(uint64_t command) noexcept;
    void insert_tag(uint16_t tag) noexcept;
    void answer_one(const descriptor& d) noexcept;
    void write_back() noexcept;

    const tx_policy policy_;
    bus& bus_;
    tx_ring_settings settings_{};
    uint32_t seen_tail_ = 0;
    uint32_t next_fetch_ = 0;
    // Descriptors in the device: written back before chip_at_, returned by next() before taken_,
    // fetched before fetched_.
    uint32_t chip_at_ = 0, taken_ = 0, fetched_ = 0;
    uint32_t done_at_ = 0;  // ring index of chip_at_
    std::array<descriptor, max_fetched> chip_{};
    uint32_t answer_at_ = 0, waiting_ = 0;  // processed, not written back (batch write-back)
    bool broken_ = false;                   // the frame being gathered had a fault
    uint32_t gathered_ = 0;
    std::unique_ptr<uint8_t[]> staging_;
};

}  // namespace turnpike::simnic
