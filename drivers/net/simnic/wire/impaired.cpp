// SPDX-License-Identifier: BSD-3-Clause
#include "wire/impaired.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace turnpike::simnic {

impaired::impaired(std::unique_ptr<wire> inner, const impairments& i, uint64_t tsc_hz)
    : inner_(std::move(inner)),
      settings_(i),
      delay_(tsc_hz / 1'000'000 * i.delay_us),
      up_cycles_(tsc_hz / 1000 * i.up_ms),
      period_(up_cycles_ + tsc_hz / 1000 * i.down_ms),
      service_(i.cap_pps > 0 ? static_cast<double>(tsc_hz) / i.cap_pps : 0),
      random_(i.seed),
      line_(std::make_unique_for_overwrite<slot[]>(slots)) {}

uint32_t impaired::peek(uint64_t now, std::span<outgoing> into) noexcept {
    follow_link(now);
    if (down_.load(std::memory_order_relaxed)) {
        std::array<outgoing, frame_batch> gone;
        const uint32_t n = inner_->peek(now, gone);
        inner_->pop(n);
        rx_lost_.add(n);
        return 0;
    }
    admit(now, static_cast<uint32_t>(into.size()));
    uint32_t n = 0;
    for (; n < into.size() && n < count_ && nth(n).due <= now; ++n)
        into[n] = {nth(n).bytes, nth(n).length};
    return n;
}

void impaired::pop(uint32_t n) noexcept {
    front_ = (front_ + n) % slots;
    count_ -= n;
}

uint64_t impaired::skip_due(uint64_t now) noexcept {
    uint64_t skipped = 0;
    for (admit(now, 1); count_ != 0 && nth(0).due <= now; admit(now, 1)) {
        pop(1);
        ++skipped;
    }
    return skipped;
}

void impaired::send(std::span<const outgoing> frames) noexcept {
    if (down_.load(std::memory_order_relaxed))
        tx_lost_.add(frames.size());
    else
        inner_->send(frames);
}

/// Move frames onto the line: `wanted` frames without a delay or a queue, otherwise all that are due.
void impaired::admit(uint64_t now, uint32_t wanted) noexcept {
    constexpr uint32_t max_at_once =
        2 * frame_batch + 1;                // every frame duplicated, plus the held one
    constexpr uint32_t max_batches = 1024;  // an unpaced wire whose frames are all lost has no end
    const bool all_due = delay_ != 0 || service_ > 0;
    for (uint32_t batch = 0;
         batch < max_batches && (all_due || count_ < wanted) && count_ + max_at_once <= slots;
         ++batch) {
        std::array<outgoing, frame_batch> in;
        const uint32_t n = inner_->peek(now, in);
        if (n == 0) return;
        for (uint32_t i = 0; i < n; ++i)
            if (uint64_t leaves = now; service_ == 0 || enqueue(now, leaves))
                impair(in[i], leaves + delay_);
        inner_->pop(n);
    }
}

/// The time at which a frame that arrives now leaves the queue; false: the queue is full.
bool impaired::enqueue(uint64_t now, uint64_t& leaves) noexcept {
    const auto end_of = [this](uint64_t n) {  // without a rounding error that grows
        return queue_since_ + static_cast<uint64_t>(service_ * static_cast<double>(n));
    };
    if (end_of(served_) <= now) {
        queue_since_ = now;
        served_ = 0;
    }
    // Frames whose service has not ended.
    const double ended = static_cast<double>(now - queue_since_) / service_;
    if (static_cast<double>(served_) - std::floor(ended) >= settings_.buffer) {
        queue_lost_.add(1);
        return false;
    }
    leaves = end_of(++served_);
    return true;
}

/// The losses that depend on the frame's number.
bool impaired::is_its_turn() noexcept {
    const uint64_t number = ++judged_;
    const bool out = number > settings_.outage_after &&
                     number <= uint64_t{settings_.outage_after} + settings_.outage;
    const bool ails = settings_.loss_until == 0 || number <= settings_.loss_until;
    return out || (settings_.loss_every != 0 && ails && number % settings_.loss_every == 0);
}

impaired::slot& impaired::put(const outgoing& frame, uint64_t due) noexcept {
    slot& s = nth(count_++);
    s.due = due;
    s.length = frame.length;
    std::memcpy(s.bytes, frame.bytes, frame.length);
    if (delay_ != 0) delayed_.add(1);
    return s;
}

void impaired::impair(const outgoing& frame, uint64_t due) noexcept {
    const uint64_t drawn = random_();
    double drawn_share = static_cast<double>(drawn >> 11) * 0x1p-53;
    const auto falls_to = [&drawn_share](double share) {
        drawn_share -= share;
        return drawn_share < 0;
    };
    if (is_its_turn() || falls_to(settings_.loss)) {
        lost_.add(1);
        return;
    }
    if (falls_to(settings_.corrupt)) {
        constexpr uint32_t last_bits = 14 * 8;
        const auto bit = static_cast<uint32_t>(drawn % last_bits);
        slot& s = put(frame, due);
        s.bytes[s.length - 1 - bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
        corrupted_.add(1);
        return;  // the held frame waits for an unimpaired one
    }
    if (falls_to(settings_.duplicate)) {
        put(frame, due);
        duplicated_.add(1);
    } else if (falls_to(settings_.reorder) && !holds_) {
        held_.length = frame.length;
        std::memcpy(held_.bytes, frame.bytes, frame.length);
        holds_ = true;
        return;
    }
    put(frame, due);
    if (!holds_) return;
    put({held_.bytes, held_.length}, due);
    holds_ = false;
    reordered_.add(1);
}

void impaired::follow_link(uint64_t now) noexcept {
    if (settings_.down_ms == 0) return;
    const bool down = now % period_ >= up_cycles_;
    if (down && !down_.load(std::memory_order_relaxed)) flaps_.add(1);
    down_.store(down, std::memory_order_relaxed);
}

size_t impaired::counts(std::span<wire_count> into) const noexcept {
    size_t n = inner_->counts(into);
    for (const wire_count& c :
         {wire_count{"impair_lost", lost_.read()},
          wire_count{"impair_duplicated", duplicated_.read()},
          wire_count{"impair_reordered", reordered_.read()},
          wire_count{"impair_corrupted", corrupted_.read()},
          wire_count{"impair_delayed", delayed_.read()},
          wire_count{"impair_queue_lost", queue_lost_.read()},
          wire_count{"link_flaps", flaps_.read()}, wire_count{"link_rx_lost", rx_lost_.read()},
          wire_count{"link_tx_lost", tx_lost_.read()}})
        into[n++] = c;
    return n;
}

}  // namespace turnpike::simnic
