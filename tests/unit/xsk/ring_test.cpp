// SPDX-License-Identifier: BSD-3-Clause
// The rings against a model: two deques, one of entries submitted by user space and one of entries
// completed by the kernel.
#include "ring.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

namespace turnpike::xsk {
namespace {

/// A ring's memory as the kernel maps it, and the kernel's side of it.
struct kernel_side {
    uint32_t producer, consumer, flags = 0;
    std::vector<uint64_t> entries;

    kernel_side(uint32_t size, uint32_t start) : producer(start), consumer(start), entries(size) {}
    ring_memory memory() {
        return {.producer = &producer,
                .consumer = &consumer,
                .flags = &flags,
                .entries = entries.data(),
                .size = static_cast<uint32_t>(entries.size())};
    }
    uint64_t consume() { return entries[consumer++ % entries.size()]; }
    void produce(uint64_t value) { entries[producer++ % entries.size()] = value; }
};

struct shape {
    uint32_t size, start;
};
class rings : public ::testing::TestWithParam<shape> {};

TEST_P(rings, produce_in_any_blocks_as_a_queue_does) {
    kernel_side kernel(GetParam().size, GetParam().start);
    fill_ring ring(kernel.memory());
    std::deque<uint64_t> model;
    std::mt19937_64 random(GetParam().size);
    uint64_t next = 0;
    for (int round = 0; round < 20000; ++round) {
        const auto wanted = static_cast<uint32_t>(random() % (2 * kernel.entries.size() + 1));
        const uint32_t room = ring.room(wanted);
        ASSERT_EQ(room, std::min<size_t>(wanted, kernel.entries.size() - model.size()));
        const uint32_t n = room == 0 ? 0 : static_cast<uint32_t>(random() % (room + 1));
        for (uint32_t i = 0; i < n; ++i) {
            ring[i] = next;
            model.push_back(next++);
        }
        ASSERT_EQ(kernel.producer - kernel.consumer, model.size() - n) << "shown too early";
        ring.submit(n);
        ASSERT_EQ(ring.pending(), model.size());
        for (size_t taken = random() % (model.size() + 1); taken > 0; --taken) {
            ASSERT_EQ(kernel.consume(), model.front());
            model.pop_front();
        }
    }
    EXPECT_GT(next, kernel.entries.size() * 1000u);
}

TEST_P(rings, consume_in_any_blocks_as_a_queue_does) {
    kernel_side kernel(GetParam().size, GetParam().start);
    completion_ring ring(kernel.memory());
    std::deque<uint64_t> model;
    std::mt19937_64 random(GetParam().size);
    uint64_t next = 0;
    for (int round = 0; round < 20000; ++round) {
        for (size_t n = random() % (kernel.entries.size() - model.size() + 1); n > 0; --n) {
            kernel.produce(next);
            model.push_back(next++);
        }
        const auto wanted = static_cast<uint32_t>(random() % (2 * kernel.entries.size() + 1));
        const uint32_t there = ring.available(wanted);
        ASSERT_LE(there, std::min<size_t>(wanted, model.size()));
        ASSERT_EQ(there == 0, wanted == 0 || model.empty());
        const uint32_t n = there == 0 ? 0 : static_cast<uint32_t>(random() % (there + 1));
        for (uint32_t i = 0; i < n; ++i) {
            ASSERT_EQ(ring[i], model.front());
            model.pop_front();
        }
        const uint32_t before = kernel.consumer;
        ring.release(n);
        ASSERT_EQ(kernel.consumer, before + n);
    }
    EXPECT_GT(next, kernel.entries.size() * 1000u);
}

TEST_P(rings, full_and_empty) {
    const uint32_t size = GetParam().size;
    kernel_side kernel(size, GetParam().start);
    fill_ring producer(kernel.memory());
    EXPECT_EQ(producer.room(UINT32_MAX), size);
    for (uint32_t i = 0; i < size; ++i) producer[i] = i;
    producer.submit(size);
    EXPECT_EQ(producer.room(1), 0u);
    completion_ring consumer(kernel.memory());
    EXPECT_EQ(consumer.available(UINT32_MAX), size);
    for (uint32_t i = 0; i < size; ++i) ASSERT_EQ(consumer[i], i);
    consumer.release(size);
    EXPECT_EQ(consumer.available(1), 0u);
    EXPECT_EQ(producer.room(1), 1u);
}

INSTANTIATE_TEST_SUITE_P(sizes_and_starts, rings,
                         ::testing::Values(shape{1, 0}, shape{2, UINT32_MAX}, shape{64, 0},
                                           shape{64, UINT32_MAX - 100}, shape{2048, 1u << 31}),
                         [](const auto& row) {
                             return std::to_string(row.param.size) + "_from_" +
                                    std::to_string(row.param.start);
                         });

TEST(ring, looks_at_the_kernels_index_only_when_it_must) {
    kernel_side kernel(64, 0);
    fill_ring ring(kernel.memory());
    ring.submit(64);
    kernel.consumer = 32;
    EXPECT_EQ(ring.room(1), 1u);
    kernel.consumer = 48;
    EXPECT_EQ(ring.room(32), 32u);
    kernel.consumer = 1000;  // would be wrong, if it were looked at
    EXPECT_EQ(ring.room(32), 32u);
    kernel.consumer = 48;
    EXPECT_EQ(ring.room(64), 48u);
}

TEST(ring, asks_for_a_wakeup_as_the_flag_says) {
    kernel_side kernel(64, 0);
    const fill_ring ring(kernel.memory());
    EXPECT_FALSE(ring.asks_for_wakeup());
    kernel.flags = XDP_RING_NEED_WAKEUP;
    EXPECT_TRUE(ring.asks_for_wakeup());
}

}  // namespace
}  // namespace turnpike::xsk
