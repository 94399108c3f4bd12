// SPDX-License-Identifier: BSD-3-Clause
// Token bucket, by virtual scheduling (the generic cell rate algorithm, ITU-T I.371): one number per bucket.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/cache_line.hpp"

namespace turnpike {

/// Rate and depth of a bucket, in ticks of the caller's clock.
struct token_rate {
    uint64_t interval = 0;  ///< ticks per token; 0: no limit
    uint64_t depth = 0;     ///< ticks in which a full bucket's tokens, but one, would come

    /// tokens, burst  at least 1
    [[nodiscard]] static constexpr token_rate per_second(uint64_t tokens, uint64_t ticks_per_second,
                                                         uint64_t burst) noexcept {
        const uint64_t interval = std::max<uint64_t>(1, ticks_per_second / tokens);
        return {interval, interval * (burst - 1)};
    }
    bool operator==(const token_rate&) const = default;
};

/// State of a bucket, full at first; buckets can share a token_rate.
/// Threads  one
class token_bucket {
  public:
    /// Whether one more is permitted at `now`.
    bool allow(const token_rate& rate, uint64_t now) noexcept {
        uint64_t from = std::max(full_at_, now);
        if (from - now > rate.depth) {
            if (from - now <= rate.depth + rate.interval) return false;
            from =
                now;  // emptier than this rate can make it: the rate was changed, and the bucket begins anew
        }
        full_at_ = from + rate.interval;
        return true;
    }

  private:
    uint64_t full_at_ = 0;  ///< time at which the bucket is full again
};

/// A bucket of several threads, with its own rate, on its own cache line. Their clocks may differ a little: as full_at_ only
/// rises, an older `now` draws no token too many.
/// Threads  any
class alignas(cache_line_bytes) shared_token_bucket {
  public:
    explicit shared_token_bucket(const token_rate& rate) noexcept : rate_(rate) {}

    bool allow(uint64_t now) noexcept {
        uint64_t full_at = full_at_.load(std::memory_order_relaxed), from = 0;
        do {
            from = std::max(full_at, now);
            if (from - now > rate_.depth) return false;
        } while (!full_at_.compare_exchange_weak(full_at, from + rate_.interval,
                                                 std::memory_order_relaxed));
        return true;
    }
    [[nodiscard]] const token_rate& rate() const noexcept { return rate_; }

  private:
    const token_rate rate_;
    std::atomic<uint64_t> full_at_{0};
};

/// A bucket with its own rate per second, by a clock in milliseconds: bursts of up to a tenth of a second's tokens.
/// Threads  one
class rate_limit {
  public:
    /// per_second  0: nothing is permitted
    explicit rate_limit(uint32_t per_second) noexcept
        : is_open_(per_second != 0),
          rate_{.interval = is_open_ ? ns_per_s / per_second : 0,
                .depth = per_second > 10 ? ns_per_s / 10 - ns_per_s / per_second : 0} {}

    /// The same rate again leaves the bucket as it is; another one begins with a full bucket.
    void set(uint32_t per_second) noexcept {
        const rate_limit next(per_second);
        if (next.is_open_ != is_open_ || next.rate_ != rate_) *this = next;
    }
    /// Whether one more is permitted at `now_ms`.
    bool allow(uint64_t now_ms) noexcept {
        return is_open_ && bucket_.allow(rate_, now_ms * ns_per_ms);
    }

  private:
    static constexpr uint64_t ns_per_s = 1'000'000'000, ns_per_ms = 1'000'000;
    bool is_open_;
    token_rate rate_;
    token_bucket bucket_{};
};

}  // namespace turnpike
