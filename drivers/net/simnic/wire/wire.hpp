// SPDX-License-Identifier: BSD-3-Clause
// What the device is plugged into. Frames have no FCS here; wire time is in TSC cycles (engine.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/tx_ring.hpp"

namespace turnpike::simnic {

/// A named count of a wire's, one more xstat.
struct wire_count {
    std::string_view name;
    uint64_t value;
};

/// When the next frame may pass: a link's speed, a generator's rate, or both. 0: at any time.
class pace {
  public:
    pace() = default;
    /// cycles_per_byte  of wire time (link speed), cycles_per_frame (rate); the slower rules
    pace(double cycles_per_byte, double cycles_per_frame) noexcept
        : per_byte_(cycles_per_byte), per_frame_(cycles_per_frame) {}

    [[nodiscard]] bool limits() const noexcept { return per_byte_ > 0 || per_frame_ > 0; }
    [[nodiscard]] bool due(uint64_t now) const noexcept {
        return !limits() || static_cast<double>(now) >= next_;
    }
    /// A frame passes; the next is due when it is through.
    void pass(uint32_t bytes) noexcept {
        if (!limits()) return;
        constexpr double fcs_preamble_gap_bytes = 24;
        const double by_link = per_byte_ * (bytes + fcs_preamble_gap_bytes);
        next_ += by_link > per_frame_ ? by_link : per_frame_;
    }
    /// Nothing was waiting until now: the time that passed unused is not saved up.
    void idle_until(uint64_t now) noexcept {
        if (next_ < static_cast<double>(now)) next_ = static_cast<double>(now);
    }

  private:
    double per_byte_ = 0, per_frame_ = 0, next_ = 0;
};

/// Threads  the engine's lock, but for counts(), up() (any).
class wire {
  public:
    wire() = default;
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;
    virtual ~wire() = default;

    /// The next frames for the host, in order, as far as they are due; how many. They stay valid
    /// until pop() or send().
    /// into  room for them, at most frame_batch
    [[nodiscard]] virtual uint32_t peek(uint64_t now, std::span<outgoing> into) noexcept = 0;
    /// The first n of them have gone.
    virtual void pop(uint32_t n) noexcept = 0;
    /// Frames of a sender that does not wait: with no buffer for them they are gone.
    [[nodiscard]] virtual bool waits() const noexcept = 0;
    /// Drop what is due and can go nowhere; how many frames that were.
    virtual uint64_t skip_due(uint64_t) noexcept { return 0; }
    /// The host was not there until now: what would have come meanwhile does not come.
    virtual void resume(uint64_t) noexcept {}
    /// The host's frames have been sent.
    virtual void send(std::span<const outgoing> frames) noexcept = 0;

    [[nodiscard]] virtual bool up() const noexcept { return true; }
    /// Appends its counts; the names never change. Returns how many.
    virtual size_t counts(std::span<wire_count> into) const noexcept = 0;
};

inline constexpr size_t most_wire_counts = 24;

}  // namespace turnpike::simnic
