// SPDX-License-Identifier: BSD-3-Clause
// Cycles of one worker: per iteration of its poll loop, per burst, and, sampled, per stage; also
// instructions per stage if the CPU permits user-space reads of the PMU.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "counters/counter.hpp"

namespace turnpike::counters {

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

/// A CPU counter of a worker, read on the worker's CPU.
///
/// Threads  read() is the worker's
class own_counter {
  public:
    virtual ~own_counter() = default;
    /// nullopt: the counter is not running.
    [[nodiscard]] virtual std::optional<uint64_t> read() const noexcept = 0;
};

/// Differences between two readings.
struct lap {
    uint64_t cycles = 0;
    std::optional<uint64_t> instructions{};
};

/// Reads the TSC, and a CPU counter if there is one.
class lap_clock {
  public:
    explicit lap_clock(const own_counter* instructions) noexcept : instructions_(instructions) {}
    void begin() noexcept { next(); }
    [[gnu::noinline]] lap next() noexcept {
        const auto count = instructions_ != nullptr ? instructions_->read() : std::nullopt;
        const uint64_t now = tsc();
        lap passed{.cycles = now - last_};
        if (count && last_count_) passed.instructions = *count - *last_count_;
        last_ = now;
        last_count_ = count;
        return passed;
    }

  private:
    const own_counter* instructions_;
    uint64_t last_ = 0;
    std::optional<uint64_t> last_count_{};
};

/// Maximum number of stages; the user of the meter numbers them.
inline constexpr size_t max_stages = 32;

/// Histogram of burst sizes. The last bin is a full burst or more.
inline constexpr uint32_t burst_bin_least[] = {1, 2, 5, 9, 17, 32};
inline constexpr std::string_view burst_bin_names[] = {"1", "2-4", "5-8", "9-16", "17-31", "32+"};
inline constexpr size_t burst_bins = std::size(burst_bin_names);

constexpr size_t burst_bin(uint32_t packets) noexcept {
    size_t bin = 0;
    while (bin + 1 < burst_bins && packets >= burst_bin_least[bin + 1]) ++bin;
    return bin;
}

/// Threads  written by its worker, read by any.
class meter {
  public:
    /// Sample the stages of one burst in this many, on average. The distance between two samples is random, so
    /// that a fixed order of polling does not select the bursts of one queue.
    static constexpr uint32_t sample_every = 64;

    /// Record the end of an iteration of the poll loop.
    ///
    /// received      packets from the RX queues
    /// from_control  packets from the inject ring; with none of either: an idle iteration
    /// cycles        since the previous iteration ended
    void iteration(uint32_t received, uint32_t from_control, uint64_t cycles) noexcept {
        total_cycles.add(cycles);
        if ((received | from_control) == 0) return;
        busy_cycles.add(cycles);
        packets.add(received);
        if (from_control != 0) [[unlikely]]
            injected.add(from_control);
    }

    /// Record the cycles that an idle worker slept between two iterations.
    void slept(uint64_t cycles) noexcept {
        total_cycles.add(cycles);
        slept_cycles.add(cycles);
    }

    /// Record the cycles that control used on the worker's lcore between two iterations.
    void lent(uint64_t cycles) noexcept {
        total_cycles.add(cycles);
        control_cycles.add(cycles);
    }

    /// True if the stages of the next burst are to be sampled.
    [[nodiscard]] bool sample_next() const noexcept { return bursts_to_sample_ == 0; }

    /// Record a burst of `received` > 0 packets.
    void burst(uint32_t received) noexcept {
        bursts[burst_bin(received)].add(1);
        if (bursts_to_sample_-- == 0) [[unlikely]]
            draw_distance();
    }

    /// Subtract the cost of the reading itself.
    void sample(size_t stage, uint32_t of_packets, const lap& passed) noexcept {
        sampled[stage].add(of_packets, passed, looking_);
    }

    /// Control: set the counter that the worker reads at each end of a sampled stage, from its next
    /// sample on. It must outlive the worker.
    void count_instructions(const own_counter* by) noexcept {
        instructions_.store(by, std::memory_order_release);
    }
    /// Worker: the current counter.
    [[nodiscard]] const own_counter* instructions() noexcept {
        const own_counter* const by = instructions_.load(std::memory_order_acquire);
        if (by != looked_by_ || !looked_) [[unlikely]] {
            looked_by_ = by;
            looked_ = true;
            measure_looking();
        }
        return by;
    }

    struct stage_sample {
        counter packets, cycles;
        counter counted_packets, instructions;  ///< of samples with an instruction count
        void add(uint32_t of_packets, const lap& passed, const lap& looking) noexcept {
            packets.add(of_packets);
            cycles.add(passed.cycles - std::min(passed.cycles, looking.cycles));
            if (!passed.instructions) return;
            counted_packets.add(of_packets);
            instructions.add(*passed.instructions -
                             std::min(*passed.instructions, looking.instructions.value_or(0)));
        }
    };
    counter packets, injected, busy_cycles, slept_cycles, control_cycles, total_cycles;
    std::array<counter, burst_bins> bursts;
    std::array<stage_sample, max_stages> sampled;

  private:
    /// Uniform in 1 to 2 * sample_every - 1 (Marsaglia, "Xorshift RNGs", 2003).
    [[gnu::noinline]] void draw_distance() noexcept {
        random_ ^= random_ << 13;
        random_ ^= random_ >> 17;
        random_ ^= random_ << 5;
        bursts_to_sample_ = static_cast<uint32_t>(uint64_t{random_} * (2 * sample_every - 1) >> 32);
    }

    /// Take the minimum of several measurements: larger ones include interference.
    void measure_looking() noexcept {
        constexpr int times = 32;
        looking_ = {.cycles = UINT64_MAX};
        stage_sample unassigned;
        lap_clock clock(looked_by_);
        clock.begin();
        for (int i = 0; i < times; ++i) {
            const lap passed = clock.next();
            unassigned.add(1, passed, {});
            looking_.cycles = std::min(looking_.cycles, passed.cycles);
            if (passed.instructions)
                looking_.instructions =
                    std::min(looking_.instructions.value_or(UINT64_MAX), *passed.instructions);
        }
    }

    uint32_t bursts_to_sample_ = 0;  ///< bursts to skip
    uint32_t random_ = 0x9e37'79b9;  ///< state of xorshift32, never 0
    bool looked_ = false;
    lap looking_{};  ///< the cost of a reading
    const own_counter* looked_by_ = nullptr;
    std::atomic<const own_counter*> instructions_{nullptr};
};

/// Laps of one sampled burst: mark() attributes the time since the last mark to a stage.
class stage_clock {
  public:
    /// on  false: every mark() costs only a register test; true: the first stage begins now
    stage_clock(meter& to, bool on) noexcept
        : to_(to), on_(on), clock_(on ? to.instructions() : nullptr) {
        if (on_) clock_.begin();
    }

    void mark(size_t stage, uint32_t packets) noexcept {
        if (on_) [[unlikely]]
            bill(stage, packets);
    }

  private:
    [[gnu::noinline]] void bill(size_t stage, uint32_t packets) noexcept {
        to_.sample(stage, packets, clock_.next());
    }

    meter& to_;
    bool on_;
    lap_clock clock_;
};

}  // namespace turnpike::counters
