// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <random>

#include "lib/packet_bytes.hpp"
#include "packet/checksum.hpp"
#include "unit/simnic/device.hpp"

namespace turnpike::simnic {
namespace {

using test::lab, test::loop, test::ring_size;

constexpr uint32_t wait_us = 50;  // beyond the device's patience

/// Polls at least once after each interval, also where this thread did not run meanwhile: the device's patience begins with
/// one poll and ends with a later one.
void advance_time(engine& device) {
    for (int interval = 0; interval < 10; ++interval) {
        const uint64_t end = counters::tsc() + device.settings().tsc_hz / 1'000'000 * wait_us;
        do device.poll(64);
        while (counters::tsc() < end);
        device.poll(64);
    }
}

std::vector<uint8_t> some_frame(size_t bytes, uint8_t fill) {
    return std::vector<uint8_t>(bytes, fill);
}

class simnic_engine : public ::testing::TestWithParam<const char*> {
  protected:
    loop* line = new loop;
    lab l{GetParam(), std::unique_ptr<wire>(line)};

    /// Anew, with or without buffers that share a frame.
    void attach_receiver(bool scatter) {
        l.device.exclusively([&] {
            l.rx_tail.value = 0;
            l.device.rx(0).attach({.iova = test::rx_ring_at,
                                   .size = ring_size,
                                   .buffer_bytes = 2048,
                                   .scatter = scatter,
                                   .timestamps = scatter,
                                   .tail = &l.rx_tail});
        });
    }
};

TEST_P(simnic_engine, receives_in_order_into_the_posted_buffers) {
    for (uint32_t i = 0; i < ring_size - 1; ++i) l.rx(i) = {{lab::buffer(i), 0}};
    l.rx_tail.mmio_write(ring_size - 1);
    for (uint32_t i = 0; i < 100; ++i) line->to_host.push_back(some_frame(60 + i, uint8_t(i)));
    l.device.poll(64);
    l.device.poll(64);
    for (uint32_t i = 0; i < 100; ++i) {
        EXPECT_EQ(l.rx(i).word[1], rx_answer_1(rx_done | rx_end, 60 + i)) << i;
        EXPECT_EQ(std::memcmp(l.memory.at(lab::buffer(i)), line->to_host[i].data(), 60 + i), 0);
    }
    EXPECT_EQ(l.rx(100).word[1], 0u) << "and no further";
    EXPECT_EQ(l.device.rx(0).packets.read(), 100u);
}

TEST_P(simnic_engine, sends_and_answers_what_asks_for_it) {
    for (uint32_t i = 0; i < 64; ++i) {
        std::memset(l.memory.at(lab::buffer(i)), int(i), 60 + i);
        const uint64_t report =
            i % 32 == 31 || l.device.settings().policy.tx.report_all ? tx_report : 0;
        l.tx(i) = {{lab::buffer(i), tx_end | report | uint64_t{60 + i} << tx_bytes_shift}};
    }
    l.tx_tail.mmio_write(64);
    advance_time(l.device);
    ASSERT_EQ(line->sent.size(), 64u);
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(line->sent[i], some_frame(60 + i, uint8_t(i)));
    EXPECT_EQ(l.tx(31).word[1] & tx_type_mask, tx_type_done);
    EXPECT_EQ(l.tx(63).word[1] & tx_type_mask, tx_type_done);
}

TEST_P(simnic_engine, gathers_segments_and_pads) {
    std::memset(l.memory.at(lab::buffer(0)), 1, 10);
    std::memset(l.memory.at(lab::buffer(1)), 2, 5);
    l.tx(0) = {{lab::buffer(0), 10ull << tx_bytes_shift}};
    l.tx(1) = {{lab::buffer(1), tx_end | tx_report | 5ull << tx_bytes_shift}};
    l.tx_tail.mmio_write(2);
    advance_time(l.device);
    ASSERT_EQ(line->sent.size(), 1u);
    std::vector<uint8_t> expected(60, 0);
    std::fill_n(expected.begin(), 10, uint8_t{1});
    std::fill_n(expected.begin() + 10, 5, uint8_t{2});
    EXPECT_EQ(line->sent[0], expected);
}

TEST_P(simnic_engine, counts_faults_and_goes_on) {
    // RX: an address outside of all memory, then a good one.
    l.rx(0) = {{0xdead'0000, 0}};
    for (uint32_t i = 1; i < 8; ++i) l.rx(i) = {{lab::buffer(i), 0}};
    l.rx_tail.mmio_write(8);
    for (uint32_t i = 0; i < 2; ++i) line->to_host.push_back(some_frame(60, uint8_t(i)));
    l.device.poll(64);
    l.device.poll(64);
    EXPECT_EQ(l.rx(0).word[1] & (rx_done | rx_error), rx_done | rx_error);
    EXPECT_EQ(l.rx(1).word[1] & (rx_done | rx_error), rx_done);
    EXPECT_EQ(l.device.pcie_bus().faults(), 1u);
    // RX: a frame longer than the buffer
    line->to_host.push_back(some_frame(2049, 9));
    l.device.poll(64);
    l.device.poll(64);
    EXPECT_EQ(l.rx(2).word[1] & (rx_done | rx_error), rx_done | rx_error);
    EXPECT_EQ(l.device.rx(0).errors.read(), 2u);
    // TX: no bytes, no such type, an address outside of all memory, across the end of memory; then
    // a good one.
    const uint64_t last = test::iova_base + test::host_memory::bytes;
    l.tx(0) = {{lab::buffer(0), tx_end}};
    l.tx(1) = {{lab::buffer(0), tx_end | 7 | 60ull << tx_bytes_shift}};
    l.tx(2) = {{0xdead'0000, tx_end | 60ull << tx_bytes_shift}};
    l.tx(3) = {{last - 59, tx_end | 60ull << tx_bytes_shift}};
    l.tx(4) = {{last - 60, tx_end | tx_report | 60ull << tx_bytes_shift}};
    l.tx_tail.mmio_write(5);
    advance_time(l.device);
    EXPECT_EQ(line->sent.size(), 1u);
    EXPECT_EQ(l.device.tx(0).errors.read(), 4u);
    EXPECT_EQ(l.device.tx(0).bad_descriptors.read(), 2u);
    EXPECT_EQ(l.device.pcie_bus().faults(), 3u);
    EXPECT_EQ(l.tx(4).word[1] & tx_type_mask, tx_type_done);
    // A tail beyond the ring
    l.tx_tail.mmio_write(ring_size);
    l.device.poll(1);
    EXPECT_EQ(line->sent.size(), 1u);
}

TEST_P(simnic_engine, scatters_a_long_frame_when_all_its_buffers_are_there) {
    attach_receiver(true);
    std::vector<uint8_t> frame(5000);
    for (size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<uint8_t>(i * 7 / 3);
    line->to_host = {some_frame(60, 1), frame, some_frame(60, 2)};
    for (uint32_t i = 0; i < ring_size - 1; ++i) l.rx(i) = {{lab::buffer(i), 0}};
    l.rx_tail.mmio_write(3);
    const auto answers = [this] {
        l.device.poll(64);
        l.device.poll(64);
        l.device.exclusively([this] { l.device.rx(0).flush(); });  // igb's wait for company
        uint32_t n = 0;
        while ((l.rx(n).word[1] & rx_done) != 0) ++n;
        return n;
    };
    EXPECT_EQ(answers(), 1u) << "two buffers are too few for three parts";
    l.rx_tail.mmio_write(4);
    EXPECT_EQ(answers(), 4u);
    l.rx_tail.mmio_write(12);
    EXPECT_EQ(answers(), 5u);
    const uint32_t parts[] = {2048, 2048, 5000 - 2 * 2048};
    for (uint32_t i = 0, at = 0; i < 3; at += parts[i++]) {
        EXPECT_EQ(l.rx(1 + i).word[1], rx_answer_1(rx_done | (i == 2 ? rx_end : 0), parts[i]));
        EXPECT_EQ(std::memcmp(l.memory.at(lab::buffer(1 + i)), &frame[at], parts[i]), 0);
    }
    EXPECT_EQ(l.rx(4).word[1], rx_answer_1(rx_done | rx_end, 60));
    EXPECT_EQ(l.device.rx(0).packets.read(), 3u);
    EXPECT_EQ(l.device.rx(0).bytes.read(), 5120u);
}

TEST_P(simnic_engine, a_part_that_does_not_fit_memory_ends_the_frame) {
    attach_receiver(true);
    line->to_host = {std::vector<uint8_t>(5000, 1), some_frame(60, 2)};
    for (uint32_t i = 0; i < ring_size - 1; ++i) l.rx(i) = {{lab::buffer(i), 0}};
    l.rx(1) = {{0xdead'0000, 0}};
    l.rx_tail.mmio_write(16);
    l.device.poll(64);
    l.device.poll(64);
    EXPECT_EQ(l.rx(0).word[1], rx_answer_1(rx_done, 2048));
    EXPECT_EQ(l.rx(1).word[1] & (rx_done | rx_error), rx_done | rx_error);
    EXPECT_EQ(l.rx(2).word[1], rx_answer_1(rx_done | rx_end, 60)) << "the next frame";
    EXPECT_EQ(l.device.rx(0).errors.read(), 1u);
    EXPECT_EQ(l.device.pcie_bus().faults(), 1u);
}

TEST_P(simnic_engine, random_descriptors_do_no_harm) {
    std::mt19937_64 random(3);
    const uint64_t corners[] = {0, ~0ull, test::iova_base - 1,
                                test::iova_base + test::host_memory::bytes - 1, test::tx_ring_at};
    // Two descriptors of each index a round: 12 million of them over the six profiles.
    const uint32_t rounds = test::rounds(4000);
    for (uint32_t round = 0; round < rounds; ++round) {
        if (round % 500 == 0) attach_receiver(round % 1000 == 0);
        for (uint32_t i = 0; i < ring_size; ++i) {
            const uint64_t where =
                random() % 4 == 0 ? corners[random() % 5] : lab::buffer(uint32_t(random()));
            l.tx(i) = {{where, random() & (random() % 2 != 0 ? ~0ull : ~tx_type_mask)}};
            l.rx(i) = {{random() % 8 == 0 ? random() : lab::buffer(uint32_t(random())), random()}};
        }
        const auto tail = static_cast<uint32_t>(random() % (ring_size + 2));
        l.tx_tail.mmio_write(tail);
        l.rx_tail.mmio_write(static_cast<uint32_t>(random() % (ring_size + 2)));
        if (line->to_host.size() < 100'000)
            line->to_host.push_back(some_frame(60 + random() % 3000, 1));
        l.device.poll(64);
        line->sent.clear();
    }
    EXPECT_GT(l.device.pcie_bus().faults(), 0u);
    EXPECT_GT(l.device.tx(0).bad_descriptors.read(), 0u);
    // Attached anew, the device works as before.
    l.device.exclusively([&] {
        l.tx_tail.value = 0;
        l.device.tx(0).attach({.iova = test::tx_ring_at, .size = ring_size, .tail = &l.tx_tail});
    });
    std::memset(l.memory.at(lab::buffer(0)), 5, 60);
    l.tx(0) = {{lab::buffer(0), tx_end | tx_report | 60ull << tx_bytes_shift}};
    l.tx_tail.mmio_write(1);
    advance_time(l.device);
    ASSERT_EQ(line->sent.size(), 1u);
    EXPECT_EQ(line->sent[0], some_frame(60, 5));
}

INSTANTIATE_TEST_SUITE_P(all, simnic_engine,
                         ::testing::Values("ixgbe", "i40e", "ice", "e1000", "igb", "niantic-dpdk"),
                         [](const auto& p) {
                             std::string name = p.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST(simnic_link, paces_what_is_sent) {
    engine_settings s = test::settings_of("ixgbe");
    s.link_gbps = 10;
    auto* line = new loop;
    lab l(s, std::unique_ptr<wire>(line));
    constexpr uint32_t frames = 200;
    for (uint32_t i = 0; i < frames; ++i)
        l.tx(i) = {{lab::buffer(i), tx_end | 60ull << tx_bytes_shift}};
    l.tx_tail.mmio_write(frames);
    const uint64_t start = counters::tsc(), deadline = start + 10'000'000'000;
    while (line->sent.size() < frames && counters::tsc() < deadline) l.device.poll(1);
    ASSERT_EQ(line->sent.size(), frames);
    // 60 bytes, FCS, preamble and gap: 84 bytes at 10 Gb/s are 67.2 ns
    EXPECT_GE(counters::tsc() - start, (frames - 1) * 67.2 * static_cast<double>(s.tsc_hz) / 1e9);
}

TEST(simnic_memory, follows_what_comes_and_goes) {
    std::vector<memory_range> now;
    std::vector<uint8_t> bytes(8192);
    std::atomic<uint64_t> generation{0};
    memory m([&] { return now; }, &generation);
    EXPECT_EQ(m.at(0x1000, 1), nullptr);
    now = {{0x2000, 4096, bytes.data() + 4096}, {0x1000, 4096, bytes.data()}};
    ++generation;
    m.follow();
    EXPECT_EQ(m.at(0x1000, 8192), bytes.data()) << "neighbours are one stretch";
    EXPECT_EQ(m.at(0x1001, 8192), nullptr);
    EXPECT_EQ(m.at(0x0fff, 2), nullptr);
    EXPECT_EQ(m.at(0x2fff, 1), bytes.data() + 8191);
    EXPECT_EQ(m.at(~0ull, 2), nullptr);
    now = {};
    ++generation;
    m.follow();
    EXPECT_EQ(m.at(0x1000, 1), nullptr);
}

/// Memory that is EAL's and mapped for a device, or mapped for two.
TEST(simnic_memory, may_be_named_twice) {
    std::vector<uint8_t> bytes(8192);
    memory m([&] {
        return std::vector<memory_range>{{0x1000, 8192, bytes.data()},
                                         {0x1800, 256, bytes.data() + 0x800},
                                         {0x1800, 256, bytes.data() + 0x800}};
    });
    EXPECT_EQ(m.at(0x1800, 1), bytes.data() + 0x800);
    EXPECT_EQ(m.at(0x2fff, 1), bytes.data() + 8191);
    EXPECT_EQ(m.at(0x1000, 8192), bytes.data());
    EXPECT_EQ(m.at(0x3000, 1), nullptr);
}

TEST(simnic_tally, is_the_sum_of_its_accesses) {
    const pcie::link link{};
    tally t(link);
    pcie::transactions rx, tx, fetched, answered;
    std::minstd_rand random(5);
    for (int i = 0; i < 20'000; ++i) {
        const uint64_t at = random() % 3 == 0 ? random() : random() % 1024 * 64u;
        const uint32_t bytes = 1 + static_cast<uint32_t>(random() % 9000);
        t.frame<tally::device_reads>(at, bytes);
        tx += pcie::read(link, at, bytes);
        t.frame<tally::device_writes>(at, bytes);
        rx += pcie::write(link, at, bytes);
        const uint64_t slot = random() % 4096 * 16u;
        const uint32_t entries = 16 * (1 + static_cast<uint32_t>(random() % 200));
        t.descriptors<tally::device_reads>(pcie::purpose::tx_descriptor_fetch, slot, entries);
        fetched += pcie::read(link, slot, entries);
        t.descriptors<tally::device_writes>(pcie::purpose::rx_write_back, slot, entries);
        answered += pcie::write(link, slot, entries);
    }
    // Runs of frames alike, unlike, and not moved at all; answers written one by one.
    for (int i = 0; i < 2'000; ++i) {
        std::array<tally::access, 40> frames;
        const auto n = static_cast<uint32_t>(random() % frames.size() + 1);
        const bool alike = random() % 2 == 0;
        for (auto& f : frames)
            f = {alike ? random() % 1024 * 64u : random(),
                 alike ? 60 : static_cast<uint32_t>(random() % 3 * 700)};
        tally::run run(frames[0].bytes);
        for (uint32_t k = 0; k < n; ++k) {
            run.see(frames[k].iova, frames[k].bytes);
            rx += pcie::write(link, frames[k].iova, frames[k].bytes);
        }
        t.frames<tally::device_writes>(run, n, [&](uint32_t k) { return frames[k]; });
        const uint32_t each = random() % 2 == 0 ? 16 : 32;
        const uint64_t at = random() % 4096 * (random() % 4 == 0 ? 16 : each);
        const auto answers = static_cast<uint32_t>(random() % 200);
        t.answers_singly(at, answers, each);
        for (uint32_t k = 0; k < answers; ++k) answered += pcie::write(link, at + k * each, each);
    }
    const pcie_bill bill = t.read(17);
    const auto same = [&](pcie::purpose p, const pcie::transactions& expected) {
        const pcie::transactions& counted = bill[static_cast<size_t>(p)];
        EXPECT_EQ(std::memcmp(&counted, &expected, sizeof expected), 0)
            << pcie::purpose_names[static_cast<size_t>(p)];
    };
    same(pcie::purpose::rx_data, rx);
    same(pcie::purpose::tx_data, tx);
    same(pcie::purpose::tx_descriptor_fetch, fetched);
    same(pcie::purpose::rx_write_back, answered);
    EXPECT_EQ(bill[static_cast<size_t>(pcie::purpose::doorbells)].lines.wil, 17u);
}

}  // namespace
}  // namespace turnpike::simnic
