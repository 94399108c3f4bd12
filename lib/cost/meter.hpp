// SPDX-License-Identifier: BSD-3-Clause
// Cycles of one worker: per iteration of its poll loop, per burst, and sampled per stage; there its instructions, too,
// where the CPU lets the worker read them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
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

/// What the CPU counts of a worker, which reads it where it runs.
/// Threads  read() is the worker's
class own_counter {
  public:
    virtual ~own_counter() = default;
    /// None: it does not count now.
    [[nodiscard]] virtual std::optional<uint64_t> read() const noexcept = 0;
};

/// What passed between two looks.
struct lap {
    uint64_t cycles = 0;
    std::optional<uint64_t> instructions{};
};

/// Looks at the TSC, and at a count where there is one.
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

    /// What looking itself costs is taken off.
    void sample(size_t stage, uint32_t of_packets, const lap& passed) noexcept {
        sampled[stage].add(of_packets, passed, looking_);
    }

    /// Control's: what the worker reads at each end of a stage that is sampled, from its next sample on. It stays as
    /// long as the worker runs.
    void count_instructions(const own_counter* by) noexcept {
        instructions_.store(by, std::memory_order_release);
    }
    /// The worker's: who reads now.
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
        counter counted_packets, instructions;  ///< where instructions were counted
        void add(uint32_t of_packets, const lap& passed, const lap& looking) noexcept {
            packets.add(of_packets);
            cycles.add(passed.cycles - std::min(passed.cycles, looking.cycles));
            if (!passed.instructions) return;
            counted_packets.add(of_packets);
            instructions.add(*passed.instructions -
                             std::min(*passed.instructions, looking.instructions.value_or(0)));
        }
    };
    counter packets, busy_cycles, slept_cycles, total_cycles;
    std::array<counter, burst_bins> bursts;
    std::array<stage_sample, max_stages> sampled;

  private:
    /// The least of some: what is more was something else.
    void measure_looking() noexcept {
        constexpr int times = 32;
        looking_ = {.cycles = UINT64_MAX};
        stage_sample nobodys;
        lap_clock clock(looked_by_);
        clock.begin();
        for (int i = 0; i < times; ++i) {
            const lap passed = clock.next();
            nobodys.add(1, passed, {});
            looking_.cycles = std::min(looking_.cycles, passed.cycles);
            if (passed.instructions)
                looking_.instructions =
                    std::min(looking_.instructions.value_or(UINT64_MAX), *passed.instructions);
        }
    }

    uint32_t burst_number_ = 0;
    bool looked_ = false;
    lap looking_{};  ///< what a look costs
    const own_counter* looked_by_ = nullptr;
    std::atomic<const own_counter*> instructions_{nullptr};
};

/// Laps of one sampled burst: mark() bills what passed since the last mark to a stage.
class stage_clock {
  public:
    /// on  false makes every mark() free but for a test of a register; otherwise the first stage begins now
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

}  // namespace turnpike::cost
