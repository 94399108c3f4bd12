// SPDX-License-Identifier: BSD-3-Clause
// A bad line in front of any wire, for tests: frames on their way to the host are lost, come twice, change
// places, are hurt or come late, and the link goes down and up. What happens to which frame depends on the
// seed and on the frame's number alone, and all is counted.
#pragma once

#include <atomic>
#include <memory>
#include <random>

#include "cost/counter.hpp"
#include "descriptor.hpp"
#include "wire/wire.hpp"

namespace turnpike::simnic {

/// Shares of the frames, each of which suffers one of the four at most: their sum is at most 1.
struct impairments {
    double loss = 0;       ///< never comes
    double duplicate = 0;  ///< comes twice, one behind the other
    double reorder = 0;    ///< comes behind the next one that comes whole
    double corrupt = 0;    ///< one bit of its last 14 bytes is turned, past the FCS's notice
    uint32_t delay_us = 0;
    uint32_t up_ms = 0, down_ms = 0;  ///< the link, by turns; 0: it stays up
    uint32_t seed = 1;

    [[nodiscard]] bool any() const noexcept {
        return loss + duplicate + reorder + corrupt > 0 || delay_us != 0 || down_ms != 0;
    }
};

class impaired final : public wire {
  public:
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
        uint8_t bytes[max_frame_bytes];
    };
    /// Frames that can be on the line; those beyond wait where they come from.
    static constexpr uint32_t slots = 4096;

    void admit(uint64_t now, uint32_t wanted) noexcept;
    void judge(const outgoing& frame, uint64_t due) noexcept;
    slot& put(const outgoing& frame, uint64_t due) noexcept;
    slot& nth(uint32_t i) noexcept { return line_[(front_ + i) % slots]; }
    void follow_link(uint64_t now) noexcept;

    const std::unique_ptr<wire> inner_;
    const impairments settings_;
    const uint64_t delay_, up_cycles_, period_;  // cycles
    std::mt19937_64 random_;
    std::unique_ptr<slot[]> line_;
    uint32_t front_ = 0, count_ = 0;
    slot held_{};  // waits for the next whole frame
    bool holds_ = false;
    std::atomic<bool> down_{false};
    cost::counter lost_{}, duplicated_{}, reordered_{}, corrupted_{}, delayed_{};
    cost::counter flaps_{}, rx_lost_{}, tx_lost_{};
};

}  // namespace turnpike::simnic
