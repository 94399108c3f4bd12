// SPDX-License-Identifier: BSD-3-Clause
// The device on one thread against a host on another: for TSan, and for lost frames.
#include <gtest/gtest.h>

#include "engine/thread.hpp"
#include "host/kernel/burst.hpp"
#include "isa/isa.hpp"
#include "unit/simnic/device.hpp"
#include "unit/simnic/wires.hpp"
#include "wire/cable.hpp"
#include "wire/generator.hpp"
#include "wire/impaired.hpp"

namespace turnpike::simnic {
namespace {

using test::count, test::lab, test::ring_size;

class simnic_thread : public ::testing::TestWithParam<const char*> {};

/// The host sends every frame that it got out of the same buffer, in order.
TEST_P(simnic_thread, forwards_without_loss) {
    constexpr packet::mac_address mac{{2, 0, 0, 0, 0, 1}};
    constexpr uint64_t wanted = 20'000;
    auto* gen = new generator({.smallest = 64, .largest = 300}, pace(), 0, mac);
    lab l(GetParam(), std::unique_ptr<wire>(gen));
    const uint64_t report_all = l.device.settings().policy.tx.report_all ? tx_report : 0;
    for (uint32_t i = 0; i < ring_size - 32; ++i) l.rx(i) = {{lab::buffer(i), 0}};
    l.rx_tail.mmio_write(ring_size - 32);
    engine_thread runs(l.device);
    ASSERT_TRUE(runs.start(-1).has_value());

    uint64_t taken = 0, answered = 0;
    const uint64_t deadline = counters::tsc() + 120ull * 1'000'000'000;
    while (answered + 32 <= wanted && counters::tsc() < deadline) {
        // receive: take, send from where it lies
        while (taken < answered + ring_size - 64 && taken < wanted) {
            descriptor& d = l.rx(static_cast<uint32_t>(taken));
            const uint64_t word_1 = __atomic_load_n(&d.word[1], __ATOMIC_ACQUIRE);
            if ((word_1 & rx_done) == 0) break;
            const auto at = static_cast<uint32_t>(taken);
            const uint64_t report = taken % 32 == 31 ? tx_report : report_all;
            l.tx(at) = {
                {lab::buffer(at), tx_end | report | (word_1 >> 32 & 0xffff) << tx_bytes_shift}};
            ++taken;
        }
        l.tx_tail.mmio_write(static_cast<uint32_t>(taken % ring_size));
        // answered blocks of 32 give their buffers back to receive
        const auto last = static_cast<uint32_t>(answered + 31);
        if (taken >= answered + 32 && (__atomic_load_n(&l.tx(last).word[1], __ATOMIC_ACQUIRE) &
                                       tx_type_mask) == tx_type_done) {
            for (uint32_t i = 0; i < 32; ++i) {
                const auto at = static_cast<uint32_t>(answered + ring_size - 32 + i);
                l.rx(at) = {{lab::buffer(at), 0}};
            }
            answered += 32;
            l.rx_tail.mmio_write(static_cast<uint32_t>((answered + ring_size - 32) % ring_size));
        } else {
            sched_yield();
        }
    }
    runs.stop();
    l.device.drain();
    EXPECT_EQ(count(*gen, "gen_received"), wanted);
    for (const char* bad :
         {"gen_lost", "gen_duplicated", "gen_reordered", "gen_damaged", "gen_foreign"})
        EXPECT_EQ(count(*gen, bad), 0u) << bad;
    EXPECT_EQ(l.device.pcie_bus().faults(), 0u);
}

INSTANTIATE_TEST_SUITE_P(all, simnic_thread, ::testing::Values("ixgbe", "i40e", "niantic-dpdk"),
                         [](const auto& p) {
                             return p.param[0] == 'n' ? "niantic" : std::string(p.param);
                         });

TEST(simnic_cable, carries_frames_between_two_threads) {
    auto a = cable::connect("a", "b");
    ASSERT_TRUE(a.has_value());
    EXPECT_FALSE((*a)->up());
    EXPECT_FALSE(cable::connect("c", "a").has_value()) << "a's cable goes to b";
    EXPECT_FALSE(cable::connect("a", "b").has_value()) << "a has one end";
    EXPECT_FALSE(cable::connect("d", "d").has_value());
    auto b = cable::connect("b", "a");
    ASSERT_TRUE(b.has_value());
    EXPECT_TRUE((*a)->up());

    constexpr uint32_t frames = 50'000;
    struct sender {
        wire* from;
        static void* run(void* self) noexcept {
            wire& w = *static_cast<sender*>(self)->from;
            std::vector<uint8_t> f(9728);
            for (uint32_t i = 0; i < frames; ++i) {
                std::memcpy(f.data(), &i, sizeof i);
                const outgoing one{f.data(), 60 + i * 31 % 9000};
                w.send({&one, 1});
            }
            return nullptr;
        }
    } s{a->get()};
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, sender::run, &s), 0);
    uint32_t got = 0, last = 0;
    bool in_order = true, right_length = true;
    const auto receive = [&] {
        outgoing all[frame_batch];
        while (const uint32_t n = (*b)->peek(0, all)) {
            for (const outgoing& f : std::span(all, n)) {
                uint32_t i;
                std::memcpy(&i, f.bytes, sizeof i);
                in_order &= got == 0 || i > last;
                right_length &= f.length == 60 + i * 31 % 9000;
                last = i;
                ++got;
            }
            (*b)->pop(n);
        }
    };
    while (got + count(**b, "wire_fifo_lost") < frames) receive();
    pthread_join(thread, nullptr);
    receive();
    EXPECT_EQ(got + count(**b, "wire_fifo_lost"), frames);
    EXPECT_GT(got, 0u);
    EXPECT_TRUE(in_order);
    EXPECT_TRUE(right_length);
}

TEST(simnic_bad_line, is_read_while_it_works) {
    auto gen = std::make_unique<generator>(traffic{}, pace(0, 1000), uint16_t{0},
                                           packet::mac_address{{2, 0, 0, 0, 0, 1}});
    const impairments i{.loss = 0.5, .delay_us = 10, .up_ms = 1, .down_ms = 1};
    engine_settings s = test::settings_of("ixgbe");
    auto* line = new impaired(std::move(gen), i, s.tsc_hz);
    lab l(s, std::unique_ptr<wire>(line));
    for (uint32_t n = 0; n < ring_size - 1; ++n) l.rx(n) = {{lab::buffer(n), 0}};
    l.rx_tail.mmio_write(ring_size - 1);
    engine_thread runs(l.device);
    ASSERT_TRUE(runs.start(-1).has_value());
    bool seen[2] = {false, false};
    const uint64_t deadline = counters::tsc() + 120ull * 1'000'000'000;
    while (counters::tsc() < deadline && !(seen[0] && seen[1] && count(*line, "link_flaps") > 3))
        seen[line->up() ? 1 : 0] = true;
    runs.stop();
    EXPECT_TRUE(seen[0] && seen[1]);
    EXPECT_GT(count(*line, "link_flaps"), 3u);
    EXPECT_GT(count(*line, "link_rx_lost"), 0u);
    EXPECT_GT(count(*line, "impair_lost"), 0u);
}

TEST(simnic_thread_start, refuses_a_cpu_that_is_not_there) {
    lab l("ixgbe", std::make_unique<test::loop>());
    engine_thread runs(l.device);
    const auto started = runs.start(1023);
    ASSERT_FALSE(started.has_value());
    EXPECT_NE(started.error().object.find("engine_cpu"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::simnic
