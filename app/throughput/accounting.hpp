// SPDX-License-Identifier: BSD-3-Clause
// Counts of received frames by sequence number, exact at any distance: one bit for each frame of the trial. And a histogram
// of latencies.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace turnpike::throughput {

/// The frames of one stream in one trial.
class sequence_account {
  public:
    enum class kind : uint8_t { first, duplicate, unknown };

    /// Prepare for a trial of at most this many frames.
    void reset(uint64_t frames);
    /// unknown: beyond the trial's frames.
    kind receive(uint64_t sequence) noexcept;

    /// The greatest sequence number below `limit` that did not arrive.
    [[nodiscard]] std::optional<uint64_t> last_missing(uint64_t limit) const noexcept;
    /// Most consecutive sequence numbers below `limit` that did not arrive.
    [[nodiscard]] uint64_t longest_gap(uint64_t limit) const noexcept;

    uint64_t received = 0;    ///< different frames
    uint64_t duplicated = 0;  ///< further copies
    uint64_t reordered = 0;   ///< received after a frame that was sent later (RFC 4737 section 3.3)

  private:
    [[nodiscard]] bool has(uint64_t sequence) const noexcept {
        return (seen_[sequence / 64] >> sequence % 64 & 1) != 0;
    }

    std::vector<uint64_t> seen_{};
    uint64_t frames_ = 0;
    uint64_t next_ = 0;  ///< one above the greatest sequence number received
};

/// Exact minimum, maximum and mean; percentiles within 1/256 of the value.
class latency_histogram {
  public:
    latency_histogram() : buckets_(bucket_of(UINT64_MAX) + 1) {}

    void add(uint64_t value) noexcept {
        ++buckets_[bucket_of(value)];
        ++count_;
        sum_ += static_cast<double>(value);
        if (value < min_) min_ = value;
        if (value > max_) max_ = value;
    }
    void reset() noexcept;

    [[nodiscard]] uint64_t count() const noexcept { return count_; }
    [[nodiscard]] uint64_t min() const noexcept { return count_ == 0 ? 0 : min_; }
    [[nodiscard]] uint64_t max() const noexcept { return max_; }
    [[nodiscard]] double mean() const noexcept {
        return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
    }
    /// The smallest value that at least this share of the values does not exceed.
    [[nodiscard]] double percentile(double percent) const noexcept;

  private:
    static constexpr unsigned sub_bits = 7;  ///< buckets of a power of two
    static unsigned bucket_of(uint64_t value) noexcept;
    static double middle_of(unsigned bucket) noexcept;

    std::vector<uint64_t> buckets_;
    uint64_t count_ = 0, min_ = UINT64_MAX, max_ = 0;
    double sum_ = 0;
};

}  // namespace turnpike::throughput
