// SPDX-License-Identifier: BSD-3-Clause
// Two transmit queues of one device: the order of sending, and how long a poll and a drain last.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "unit/simnic/device.hpp"

namespace turnpike::simnic {
namespace {

using test::lab, test::ring_size;

constexpr uint32_t frame_bytes = 1000;

/// Knows the frames of a queue by their bytes; as long as `feeds` lasts, the host posts a frame to queue 0
/// for each that it sends.
class watcher final : public wire {
  public:
    uint32_t sent[2]{};
    uint32_t feeds = 0;
    tail_register* tail = nullptr;

    uint32_t peek(uint64_t, std::span<outgoing>) noexcept override { return 0; }
    void pop(uint32_t) noexcept override {}
    bool waits() const noexcept override { return true; }
    void send(std::span<const outgoing> frames) noexcept override {
        for (const outgoing& f : frames) {
            ++sent[f.bytes[0]];
            if (f.bytes[0] != 0 || feeds == 0) continue;
            --feeds;
            tail->mmio_write((tail->value + 1) % ring_size);
        }
    }
    size_t counts(std::span<wire_count>) const noexcept override { return 0; }
};

/// Queues 0 and 1, whose rings hold the same frames over and over.
struct two_queues {
    watcher* line = new watcher;
    lab l;
    tail_register second_tail{};

    explicit two_queues(double gbps) : l(settings(gbps), std::unique_ptr<wire>(line)) {
        constexpr uint64_t second_at = test::tx_ring_at + 0x1'0000;
        line->tail = &l.tx_tail;
        for (uint32_t q = 0; q < 2; ++q) {
            std::memset(l.memory.at(lab::buffer(q)), static_cast<int>(q), frame_bytes);
            auto* ring =
                reinterpret_cast<descriptor*>(l.memory.at(q == 0 ? test::tx_ring_at : second_at));
            for (uint32_t i = 0; i < ring_size; ++i)
                ring[i] = {{lab::buffer(q), tx_end | uint64_t{frame_bytes} << tx_bytes_shift}};
        }
        l.device.exclusively([&] {
            l.device.tx(1).attach({.iova = second_at, .size = ring_size, .tail = &second_tail});
            l.device.set_queues(1, 2);
        });
    }
    static engine_settings settings(double gbps) {
        engine_settings s = test::settings_of("ixgbe");
        s.link_gbps = gbps;
        s.tx_queues = 2;
        return s;
    }
};

/// A slow machine's poll finds up to 0.1 ms of wire time to fill: 122 frames. So more than were waited for
/// may have gone, but by turns, and no more than the link lets pass.
TEST(simnic_turns, a_full_queue_does_not_starve_another_on_a_paced_link) {
    two_queues t(10);
    const auto& [first, second] = t.line->sent;
    const uint64_t start = counters::tsc();
    t.l.device.poll(1);  // nothing waits: the time until here is not saved up
    t.line->feeds = 1'000'000;
    t.l.tx_tail.mmio_write(ring_size - 1);
    t.second_tail.mmio_write(ring_size - 1);
    const uint64_t deadline = start + 10'000'000'000;
    while (first + second < 300 && counters::tsc() < deadline) t.l.device.poll(1);
    const double seconds = static_cast<double>(counters::tsc() - start) /
                           static_cast<double>(t.l.device.settings().tsc_hz);
    EXPECT_GE(first + second, 300u);
    EXPECT_LT(second, ring_size - 1u) << "it has nothing more to send: the comparison says nothing";
    EXPECT_NEAR(first, second, 1);
    constexpr double bits = 8 * (frame_bytes + 24);  // check sequence, preamble and gap
    EXPECT_LE(first + second, seconds * 10e9 / bits + 1);
}

TEST(simnic_turns, a_poll_ends_however_fast_the_host_posts) {
    two_queues t(0);
    t.line->feeds = 1'000'000;
    t.l.tx_tail.mmio_write(ring_size - 1);
    t.second_tail.mmio_write(100);
    t.l.device.poll(1);
    EXPECT_LE(t.line->sent[0] + t.line->sent[1], 512u);
    EXPECT_EQ(t.line->sent[1], 100u);
}

TEST(simnic_turns, a_queue_is_drained_beside_one_that_goes_on) {
    two_queues t(10);
    t.line->feeds = UINT32_MAX;
    t.l.tx_tail.mmio_write(ring_size - 1);
    t.second_tail.mmio_write(ring_size - 1);
    const uint64_t start = counters::tsc();
    t.l.device.drain(1u << 1);
    EXPECT_EQ(t.line->sent[1], ring_size - 1);
    EXPECT_FALSE(t.l.device.tx(1).busy());
    // Twice 255 frames of 1024 bytes on the wire: 0.42 ms; half a second where the machine is busy.
    EXPECT_LT(counters::tsc() - start, t.l.device.settings().tsc_hz / 2);
}

/// The longest time that another thread could not poll while a queue was drained, as a fraction of
/// the drain.
double longest_without_a_poll() {
    two_queues t(0.005);  // 255 frames take 0.4 s
    t.second_tail.mmio_write(ring_size - 1);
    std::atomic<bool> done{false};
    uint64_t longest = 0;  // without a poll of another thread's
    std::thread other([&] {
        uint64_t last = counters::tsc(), polls = 0;
        while (!done) {
            t.l.device.poll(1);
            const uint64_t now = counters::tsc();
            longest = std::max(longest, now - last);
            if (t.l.device.polls.read() == polls) continue;  // no: the drain had the lock
            polls = t.l.device.polls.read();
            last = now;
        }
    });
    while (t.l.device.polls.read() == 0) sched_yield();
    const uint64_t start = counters::tsc();
    t.l.device.drain(1u << 1);
    const uint64_t took = counters::tsc() - start;
    done = true;
    other.join();
    EXPECT_EQ(t.line->sent[1], ring_size - 1);
    return static_cast<double>(longest) / static_cast<double>(took);
}

TEST(simnic_turns, others_poll_while_a_queue_is_drained) {
    // On a busy machine a thread may not run for as long as a drain takes; a drain that blocked
    // other threads would block them in each attempt.
    bool seen = false;
    for (int attempt = 0; attempt < 10 && !seen; ++attempt) seen = longest_without_a_poll() < 0.5;
    EXPECT_TRUE(seen);
}

/// A fetch from an unmapped address never completes: the drain ends nevertheless.
TEST(simnic_turns, a_drain_gives_up_on_a_ring_that_lies_nowhere) {
    two_queues t(0);
    t.l.device.exclusively([&] {
        t.l.device.tx(1).attach({.iova = 0xdead'0000, .size = ring_size, .tail = &t.second_tail});
    });
    t.second_tail.mmio_write(1);
    t.l.device.drain();
    EXPECT_TRUE(t.l.device.tx(1).busy());
    EXPECT_GT(t.l.device.pcie_bus().faults(), 0u);
}

}  // namespace
}  // namespace turnpike::simnic
