// SPDX-License-Identifier: BSD-3-Clause
#include "accounting.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace turnpike::throughput {

void sequence_account::reset(uint64_t frames) {
    seen_.assign((frames + 63) / 64, 0);
    frames_ = frames;
    received = duplicated = reordered = next_ = 0;
}

sequence_account::kind sequence_account::receive(uint64_t sequence) noexcept {
    if (sequence >= frames_) return kind::unknown;
    uint64_t& word = seen_[sequence / 64];
    const uint64_t bit = uint64_t{1} << sequence % 64;
    if ((word & bit) != 0) {
        ++duplicated;
        return kind::duplicate;
    }
    word |= bit;
    ++received;
    if (sequence < next_)
        ++reordered;
    else
        next_ = sequence + 1;
    return kind::first;
}

std::optional<uint64_t> sequence_account::last_missing(uint64_t limit) const noexcept {
    for (uint64_t n = std::min(limit, frames_); n > 0;) {
        if (n % 64 == 0 && seen_[n / 64 - 1] == UINT64_MAX)
            n -= 64;
        else if (!has(--n))
            return n;
    }
    return {};
}

uint64_t sequence_account::longest_gap(uint64_t limit) const noexcept {
    uint64_t longest = 0, gap = 0;
    for (uint64_t n = 0; n < std::min(limit, frames_); ++n) {
        gap = has(n) ? 0 : gap + 1;
        longest = std::max(longest, gap);
    }
    return longest;
}

void latency_histogram::reset() noexcept {
    std::fill(buckets_.begin(), buckets_.end(), 0);
    count_ = max_ = 0;
    min_ = UINT64_MAX;
    sum_ = 0;
}

unsigned latency_histogram::bucket_of(uint64_t value) noexcept {
    const unsigned shift =
        static_cast<unsigned>(std::bit_width(value | (1u << sub_bits))) - 1 - sub_bits;
    return (shift << sub_bits) + static_cast<unsigned>(value >> shift);
}

double latency_histogram::middle_of(unsigned bucket) noexcept {
    if (bucket < 2u << sub_bits) return bucket;
    const unsigned shift = (bucket >> sub_bits) - 1;
    const uint64_t first = uint64_t{bucket - (shift << sub_bits)} << shift;
    return static_cast<double>(first) + std::ldexp(1, static_cast<int>(shift)) / 2;
}

double latency_histogram::percentile(double percent) const noexcept {
    if (count_ == 0) return 0;
    const auto rank = std::max<uint64_t>(
        1, static_cast<uint64_t>(std::ceil(percent / 100 * static_cast<double>(count_) - 1e-9)));
    uint64_t sum = 0;
    for (unsigned i = 0; i < buckets_.size(); ++i)
        if ((sum += buckets_[i]) >= rank)
            return std::clamp(middle_of(i), static_cast<double>(min_), static_cast<double>(max_));
    return static_cast<double>(max_);
}

}  // namespace turnpike::throughput
