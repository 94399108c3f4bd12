// SPDX-License-Identifier: BSD-3-Clause
// Impairs any wire, for tests: frames to the host are lost, duplicated, reordered, corrupted or
// delayed, and the link flaps. The impairment of a frame depends only on the seed and the frame's
// number; every one is counted. A forwarder of limited rate and memory is a queue before the rest:
//
//   frames --> queue of `buffer` frames, one leaves every 1/cap s --> loss, duplicate, ... --> delay --> host
//                     full: lost (impair_queue_lost)
#pragma once

#include <atomic>
#include <memory>
#include <random>

#include "counters/counter.hpp"
#include "descriptor.hpp"
#include "wire/wire.hpp"

namespace turnpike::simnic {

/// Fractions of the frames. A frame suffers at most one of the four: their sum is at most 1.
struct impairments {
    double loss = 0;       ///< dropped
    double duplicate = 0;  ///< sent twice, back to back
    double reorder = 0;    ///< delivered after the next unimpaired frame
    double corrupt = 0;  ///< one of the last 14 bytes has a bit flipped; the FCS does not catch it
    uint32_t loss_every = 0;  ///< besides, every n-th frame is dropped; 0: none
    uint32_t loss_until = 0;  ///< the last frame that loss_every drops; 0: no limit
    double cap_pps = 0;       ///< frames per second that leave the queue; 0: no queue
    uint32_t buffer = 512;    ///< frames that the queue holds, the leaving one included
    uint32_t outage_after = 0, outage = 0;  ///< after so many frames, so many are dropped, once
    uint32_t delay_us = 0;
    uint32_t up_ms = 0,
             down_ms = 0;  ///< milliseconds that the link stays up and down in turn; 0: always up
    uint32_t seed = 1;

    [[nodiscard]] bool any() const noexcept {
        return loss + duplicate + reorder + corrupt > 0 || loss_every != 0 || cap_pps > 0 ||
               delay_us != 0 || down_ms != 0 || outage != 0;
    }
};

class impaired final : public wire {
  public:
    /// Capacity of the line; further frames wait in the wire behind it.
    static constexpr uint32_t slots = 4096;
    static constexpr uint32_t max_buffer = slots - 256;
    /// Frames on the line that leave room for a batch, each frame of it duplicated, and the held frame.
    static constexpr uint32_t max_delayed = 4000;
    static_assert(max_delayed + 2 * frame_batch + 1 <= slots);

    impaired(std::unique_ptr<wire> inner, const impairments& i, uint64_t tsc_hz);

    uint32_t peek(uint64_t now, std::span<outgoing> into) noexcept override;
    void pop(uint32_t n) noexcept override;
    bool waits() const noexcept override { return inner_->waits(); }
    uint64_t skip_due(uint64_t now) noexcept override;
    void resume(uint64_t now) noexcept override { inner_->resume(now); }
    void send(std::span<const outgoing> frames) noexcept override;
    bool up() const noexcept override {
        return !down_.load(std::memory_order_relaxed) && inner_->up();
    }
    size_t counts(std::span<wire_count> into) const noexcept override;

  private:
    struct slot {
        uint64_t due;
        uint32_t length;
        uint8_t bytes[max_frame_bytes + 4];  // and a VLAN tag that a peer inserted
    };

    void admit(uint64_t now, uint32_t wanted) noexcept;
    void impair(const outgoing& frame, uint64_t due) noexcept;
    bool enqueue(uint64_t now, uint64_t& leaves) noexcept;
    bool is_its_turn() noexcept;
    slot& put(const outgoing& frame, uint64_t due) noexcept;
    slot& nth(uint32_t i) noexcept { return line_[(front_ + i) % slots]; }
    void follow_link(uint64_t now) noexcept;

    const std::unique_ptr<wire> inner_;
    const impairments settings_;
    const uint64_t delay_, up_cycles_, period_;  // cycles
    const double service_;      // cycles that a frame is in the queue's head; 0: no queue
    uint64_t queue_since_ = 0;  // the head's first service after the queue was empty
    uint64_t served_ = 0;       // frames that entered the queue since
    uint64_t judged_ = 0;
    std::mt19937_64 random_;
    std::unique_ptr<slot[]> line_;
    uint32_t front_ = 0, count_ = 0;
    slot held_{};  // waits for the next unimpaired frame
    bool holds_ = false;
    std::atomic<bool> down_{false};
    counters::counter lost_{}, duplicated_{}, reordered_{}, corrupted_{}, delayed_{}, queue_lost_{};
    counters::counter flaps_{}, rx_lost_{}, tx_lost_{};
};

}  // namespace turnpike::simnic
