// SPDX-License-Identifier: BSD-3-Clause
// The interface between the device and its link partner. Frames have no FCS; wire time is in TSC
// cycles (engine.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/tx_ring.hpp"

namespace turnpike::simnic {

/// A named counter of a wire, exported as an xstat.
struct wire_count {
    std::string_view name;
    uint64_t value;
};

/// Paces frames by link speed, by rate, or both. 0: unpaced.
class pace {
  public:
    pace() = default;
    /// cycles_per_byte  of wire time (link speed), cycles_per_frame (rate); the slower one limits
    pace(double cycles_per_byte, double cycles_per_frame) noexcept
        : per_byte_(cycles_per_byte), per_frame_(cycles_per_frame) {}

    [[nodiscard]] bool limits() const noexcept { return per_byte_ > 0 || per_frame_ > 0; }
    [[nodiscard]] bool due(uint64_t now) const noexcept {
        return !limits() || static_cast<double>(now) >= next_;
    }
    /// Account a frame; the next is due after it.
    void pass(uint32_t bytes) noexcept {
        if (!limits()) return;
        constexpr double fcs_preamble_gap_bytes = 24;
        const double by_link = per_byte_ * (bytes + fcs_preamble_gap_bytes);
        next_ += by_link > per_frame_ ? by_link : per_frame_;
    }
    /// The wire was idle until now: idle time is not credited.
    void idle_until(uint64_t now) noexcept {
        if (next_ < static_cast<double>(now)) next_ = static_cast<double>(now);
    }

  private:
    double per_byte_ = 0, per_frame_ = 0, next_ = 0;
};

/// Threads  the engine's lock, except counts(), up() (any).
class wire {
  public:
    wire() = default;
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;
    virtual ~wire() = default;

    /// Get the next frames for the host, in order, as far as they are due; returns how many. They
    /// stay valid until pop() or send().
    ///
    /// into  at most frame_batch frames
    [[nodiscard]] virtual uint32_t peek(uint64_t now, std::span<outgoing> into) noexcept = 0;
    /// Remove the first n frames.
    virtual void pop(uint32_t n) noexcept = 0;
    /// False: the sender does not wait; frames without a buffer are lost.
    [[nodiscard]] virtual bool waits() const noexcept = 0;
    /// Drop due frames that cannot be delivered; returns how many.
    virtual uint64_t skip_due(uint64_t) noexcept { return 0; }
    /// The host was absent until now: drop frames that were due meanwhile.
    virtual void resume(uint64_t) noexcept {}
    /// Send the host's frames.
    virtual void send(std::span<const outgoing> frames) noexcept = 0;

    [[nodiscard]] virtual bool up() const noexcept { return true; }
    /// Appends its counters; the names never change. Returns how many.
    virtual size_t counts(std::span<wire_count> into) const noexcept = 0;
};

inline constexpr size_t max_wire_counts = 24;

}  // namespace turnpike::simnic
