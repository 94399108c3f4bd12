// SPDX-License-Identifier: BSD-3-Clause
// memory=cold: frames and completions equal memory=warm's, and have to be fetched from memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "unit/simnic/device.hpp"

namespace turnpike::simnic {
namespace {

using test::lab, test::loop, test::ring_size;

/// Later instructions wait for earlier loads.
void wait_for_loads() {
#if defined(__x86_64__)
    __builtin_ia32_lfence();
#else
    asm volatile("dsb ld; isb" ::: "memory");
#endif
}

uint64_t cycles_to_load(const volatile uint8_t* at) {
    settle();
    const uint64_t start = counters::tsc();
    wait_for_loads();
    (void)*at;
    wait_for_loads();
    return counters::tsc() - start;
}

uint64_t median(std::vector<uint64_t> of) {
    std::ranges::nth_element(of, of.begin() + static_cast<ptrdiff_t>(of.size() / 2));
    return of[of.size() / 2];
}

/// 0 to n - 1 in an order that no prefetcher guesses.
std::vector<uint32_t> shuffled(uint32_t n) {
    std::vector<uint32_t> all(n);
    std::iota(all.begin(), all.end(), 0u);
    std::ranges::shuffle(all, std::minstd_rand(n));
    return all;
}

/// An emulator has no caches whose time it shows.
bool caches_show() {
    std::vector<uint8_t> bytes(1u << 20, 1);
    std::vector<uint64_t> warm, cold;
    for (const uint32_t i : shuffled(128)) {
        const size_t at = i * 8192;
        warm.push_back(cycles_to_load(&(bytes[at] = 2)));
        isa::flush_line(&bytes[at]);
        cold.push_back(cycles_to_load(&bytes[at]));
    }
    return median(cold) > median(warm) * 3 / 2;
}

engine_settings settings(const char* profile, bool cold) {
    engine_settings s = test::settings_of(profile);
    s.cold = cold;
    return s;
}

TEST(simnic_cold, every_way_to_evict_does) {
    if (!caches_show()) GTEST_SKIP() << "no caches to see";
    std::vector<uint8_t> bytes(1u << 20, 1);
    for (const eviction& e : evictions()) {
        if (!e.runs_here()) continue;  // the last always does
        std::vector<uint64_t> warm, cold;
        for (const uint32_t i : shuffled(127)) {
            const size_t at = i * 8192;
            // From within a line to within another: three of them, and no more.
            uint8_t* lines = &bytes[at + (64 - reinterpret_cast<uintptr_t>(&bytes[at]) % 64)];
            std::fill_n(lines, 256, uint8_t{3});
            e.evict(lines + 70, 80);
            settle();
            warm.push_back(cycles_to_load(lines + 63));
            warm.push_back(cycles_to_load(lines + 192));
            cold.push_back(cycles_to_load(lines + 64));
            cold.push_back(cycles_to_load(lines + 149));
            ASSERT_EQ(std::count(lines, lines + 256, 3), 256);
        }
        EXPECT_GT(median(cold), median(warm) * 3 / 2) << e.name;
    }
    EXPECT_TRUE(evictions().back().runs_here());
}

class simnic_cold_device : public ::testing::TestWithParam<const char*> {
  protected:
    /// Frames received; the median time to load the first byte of a frame, or of a completion.
    struct loads {
        uint64_t frame, answer;
    };
    static loads received(bool cold, bool scatter) {
        auto* line = new loop;
        lab l(settings(GetParam(), cold), std::unique_ptr<wire>(line));
        if (scatter)
            l.device.exclusively([&] {
                l.device.rx(0).attach({.iova = test::rx_ring_at,
                                       .size = ring_size,
                                       .buffer_bytes = 100,
                                       .scatter = true,
                                       .tail = &l.rx_tail});
            });
        const uint32_t frames = scatter ? 100 : 200, parts = scatter ? 2 : 1;
        for (uint32_t i = 0; i < ring_size - 1; ++i) l.rx(i) = {{lab::buffer(i), 0}};
        l.rx_tail.mmio_write(ring_size - 1);
        for (uint32_t i = 0; i < frames; ++i) {
            std::vector<uint8_t> f(101 + i % 99);
            for (size_t k = 0; k < f.size(); ++k) f[k] = static_cast<uint8_t>(i + k * 7);
            line->to_host.push_back(f);
        }
        for (int n = 0; n < 5; ++n) l.device.poll(64);
        std::vector<uint64_t> first, answer;
        for (const uint32_t i : shuffled(frames))
            first.push_back(cycles_to_load(l.memory.at(lab::buffer(i * parts))));
        // One in two lines, for a load may bring two.
        for (const uint32_t i : shuffled(24))
            answer.push_back(cycles_to_load(reinterpret_cast<uint8_t*>(&l.rx(i * 8))));
        for (uint32_t i = 0; i < frames; ++i) {
            const auto& sent = line->to_host[i];
            uint32_t at = 0;
            for (uint32_t part = 0; part < parts; ++part) {
                const uint32_t bytes = rx_bytes(l.rx(i * parts + part));
                EXPECT_EQ(std::memcmp(l.memory.at(lab::buffer(i * parts + part)), &sent[at], bytes),
                          0);
                at += bytes;
            }
            EXPECT_EQ(at, sent.size()) << i;
        }
        return {median(first), median(answer)};
    }
    /// Several rounds. Other processes use this machine too: they make warm lines slow, so the quickest
    /// warm round counts; and a round in which cold lines are quick, by a prefetch, is not the usual one.
    static loads usual(bool cold, bool scatter) {
        std::vector<uint64_t> frames, answers;
        for (int round = 0; round < 9; ++round) {
            const loads now = received(cold, scatter);
            frames.push_back(now.frame);
            answers.push_back(now.answer);
        }
        if (cold) return {median(frames), median(answers)};
        return {*std::min_element(frames.begin(), frames.end()),
                *std::min_element(answers.begin(), answers.end())};
    }
};

TEST_P(simnic_cold_device, frames_come_whole_out_of_memory) {
    const loads warm = usual(false, false), cold = usual(true, false);
    if (!caches_show()) GTEST_SKIP() << "no caches to see";
    EXPECT_GT(cold.frame, warm.frame * 3 / 2);
    EXPECT_GT(cold.answer, warm.answer * 3 / 2);
}

TEST_P(simnic_cold_device, frames_in_parts_too) {
    const loads warm = usual(false, true), cold = usual(true, true);
    if (!caches_show()) GTEST_SKIP() << "no caches to see";
    EXPECT_GT(cold.frame, warm.frame * 3 / 2);
}

TEST_P(simnic_cold_device, sends_as_ever) {
    auto* line = new loop;
    lab l(settings(GetParam(), true), std::unique_ptr<wire>(line));
    for (uint32_t i = 0; i < 64; ++i) {
        std::memset(l.memory.at(lab::buffer(i)), int(i), 60 + i);
        l.tx(i) = {{lab::buffer(i), tx_end | tx_report | uint64_t{60 + i} << tx_bytes_shift}};
    }
    l.tx_tail.mmio_write(64);
    l.device.drain();
    ASSERT_EQ(line->sent.size(), 64u);
    for (uint32_t i = 0; i < 64; ++i) {
        EXPECT_EQ(line->sent[i], std::vector<uint8_t>(60 + i, uint8_t(i)));
        EXPECT_EQ(l.tx(i).word[1] & tx_type_mask, tx_type_done) << i;
    }
}

INSTANTIATE_TEST_SUITE_P(all, simnic_cold_device,
                         ::testing::Values("ixgbe", "i40e", "igb", "niantic-dpdk"),
                         [](const auto& p) {
                             return p.param[0] == 'n' ? "niantic" : std::string(p.param);
                         });

}  // namespace
}  // namespace turnpike::simnic
