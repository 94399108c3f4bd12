// SPDX-License-Identifier: BSD-3-Clause
// The packet pool: how many buffers it has where nobody says, and how many are refused.
#include "control/packet_pool.hpp"

#include <gtest/gtest.h>

#include <string>

#include "lib/eal.hpp"
#include "lib/path_lab.hpp"

namespace turnpike {
namespace {

using namespace test;

/// Ports of so many receive queues with so many descriptors, and no `mempool`.
struct queues {
    unsigned ports = 1, rx_queues = 1, descriptors = 1024, workers = 1;
};
state::desired wanted_of(const queues& of) {
    std::string text = "ports:\n";
    for (unsigned p = 0; p < of.ports; ++p) {
        const std::string n = std::to_string(p);
        text += "  - {name: p" + n + ", device: d" + n + ", addresses: [10.0." + n +
                ".1/24], rx_queues: " + std::to_string(of.rx_queues) +
                ", descriptors: " + std::to_string(of.descriptors) + "}\n";
    }
    state::desired wanted = taken(sources::load_text(text, "pool.yaml"));
    wanted.fixed.pool.ops = "ring_mp_mc";
    wanted.fixed.pool.buffer_size = 256;  // so many of them take little memory
    return wanted;
}

/// Most that can be out at a time: every descriptor of every queue (a worker has a TX queue at each port), what
/// mempool caches of control and workers may keep before they give back, bursts under way, and packets that wait
/// to be sent together.
uint64_t most_out(const queues& of, const rte_mempool& pool) {
    const uint64_t kept = pool.local_cache[rte_lcore_id()].flushthresh;
    EXPECT_GE(kept, pool.cache_size);
    return uint64_t{of.ports} * (of.rx_queues + of.workers) * of.descriptors +
           (of.workers + 1) * kept +
           of.workers * (datapath::burst_max + of.ports * rxtx::tx_queue::burst);
}

class default_pool : public ::testing::TestWithParam<queues> {};

TEST_P(default_pool, holds_all_that_can_be_out_while_neighbours_hold_a_quarter) {
    const auto made = control::make_packet_pool(wanted_of(GetParam()), GetParam().workers);
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_GE((*made)->size - (*made)->size / 4, most_out(GetParam(), **made));
    rte_mempool_free(*made);
}

INSTANTIATE_TEST_SUITE_P(
    packet_pool, default_pool,
    ::testing::Values(queues{}, queues{.rx_queues = 4, .descriptors = 4096, .workers = 4},
                      queues{.ports = 4, .descriptors = 4096, .workers = 2},
                      queues{.ports = 4, .rx_queues = 4, .descriptors = 2048, .workers = 4},
                      queues{.ports = 4, .rx_queues = 1, .descriptors = 1024, .workers = 12},
                      queues{.descriptors = 64, .workers = 60}),  // caches more than rings
    [](const auto& row) {
        const queues& q = row.param;
        return std::to_string(q.ports) + "_ports_" + std::to_string(q.rx_queues) + "_queues_" +
               std::to_string(q.descriptors) + "_descriptors_" + std::to_string(q.workers) +
               "_workers";
    });

TEST(packet_pool, as_many_as_the_configuration_says) {
    state::desired wanted = wanted_of({});
    wanted.fixed.pool.buffers = 3000;
    const auto made = control::make_packet_pool(wanted, 1);
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ((*made)->size, 3000U);
    rte_mempool_free(*made);
}

TEST(packet_pool, fewer_than_receive_rings_hold_are_refused_with_both_numbers) {
    state::desired wanted = wanted_of({.ports = 4, .rx_queues = 4, .descriptors = 2048});
    constexpr uint32_t least = 4 * 4 * 2048 + 256;  // and one mempool cache
    wanted.fixed.pool.buffers = least - 1;
    const auto refused =
        control::controller::create(std::make_unique<const state::desired>(wanted));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EINVAL);
    const std::string said = refused.error().message();
    EXPECT_NE(said.find("pool.yaml: mempool: 33023 buffers are too few"), std::string::npos)
        << said;
    EXPECT_NE(said.find("hold 33024;"), std::string::npos) << said;
    EXPECT_EQ(rte_mempool_lookup("turnpike"), nullptr) << "it stays";
    wanted.fixed.pool.buffers = least;
    const auto made = control::make_packet_pool(wanted, 1);
    ASSERT_TRUE(made) << made.error().message();
    rte_mempool_free(*made);
}

}  // namespace
}  // namespace turnpike
