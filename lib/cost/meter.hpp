// SPDX-License-Identifier: BSD-3-Clause
// Cycles of one worker: per iteration of its poll loop, per burst, and sampled per stage.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "cost/counter.hpp"

namespace turnpike::cost {

/// The time stamp counter: constant-rate cycles, not core cycles.
inline uint64_t tsc() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

/// Stages are numbered by who has them; this many at most.
inline constexpr size_t max_stages = 32;

/// Bursts by size. The last bin is a full burst or more.
inline constexpr uint32_t burst_bin_least[] = {1, 2, 5, 9, 17, 32};
inline constexpr std::string_view burst_bin_names[] = {"1", "2-4", "5-8", "9-16", "17-31", "32+"};
inline constexpr size_t burst_bins = std::size(burst_bin_names);

constexpr size_t burst_bin(uint32_t packets) noexcept {
    size_t bin = 0;
    while (bin + 1 < burst_bins && packets >= burst_bin_least[bin + 1]) ++bin;
    return bin;
}

/// Threads  written by its worker, read by anyone.
class meter {
  public:
    /// One burst in this many is taken apart by stage.
    static constexpr uint32_t sample_every = 64;

    /// An iteration of the poll loop ended.
    /// received  packets; 0 makes it idle
    /// cycles    since the previous iteration ended
    void iteration(uint32_t received, uint64_t cycles) noexcept {
        total_cycles.add(cycles);
        if (received == 0) return;
        busy_cycles.add(cycles);
        packets.add(received);
    }

    /// Between two iterations it slept, as nothing came.
    void slept(uint64_t cycles) noexcept {
        total_cycles.add(cycles);
        slept_cycles.add(cycles);
    }

    /// Whether the stages of the next burst are to be sampled.
    [[nodiscard]] bool sample_next() const noexcept { return burst_number_ % sample_every == 0; }

    /// A burst of `received` > 0 packets came.
    void burst(uint32_t received) noexcept {
        bursts[burst_bin(received)].add(1);
        ++burst_number_;
    }

    void sample(size_t stage, uint32_t of_packets, uint64_t cycles) noexcept {
        auto& row = sampled[stage];
        row.packets.add(of_packets);
        row.cycles.add(cycles);
    }

    struct stage_sample {
        counter packets, cycles;
    };
    counter packets, busy_cycles, slept_cycles, total_cycles;
    std::array<counter, burst_bins> bursts;
    std::array<stage_sample, max_stages> sampled;

  private:
    uint32_t burst_number_ = 0;
};

/// Laps of one sampled burst: mark() bills the cycles since the last mark to a stage.
class stage_clock {
  public:
    /// on     false makes every mark() free but for a test of a register
    /// start  TSC when the burst's first stage began
    stage_clock(meter& to, bool on, uint64_t start) noexcept : to_(to), on_(on), last_(start) {}

    void mark(size_t stage, uint32_t packets) noexcept {
        if (!on_) return;
        const uint64_t now = tsc();
        to_.sample(stage, packets, now - last_);
        last_ = now;
    }

  private:
    meter& to_;
    bool on_;
    uint64_t last_;
};

}  // namespace turnpike::cost
