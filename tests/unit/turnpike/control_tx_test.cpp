// SPDX-License-Identifier: BSD-3-Clause
// Packets that control originates, of any length.
#include "control/control_tx.hpp"

#include <gtest/gtest.h>

#include "lib/eal.hpp"
#include "reload_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;

/// A frame of the kernel may be as long as the port's MTU, and that longer than a buffer.
TEST(control_tx, a_frame_longer_than_a_buffer_is_in_several) {
    lab l(router());
    const uint32_t room = rte_pktmbuf_data_room_size(l.controller().pool()) - RTE_PKTMBUF_HEADROOM;
    for (const uint32_t bytes : {60U, room, room + 1, 2 * room, 9014U, 65535U}) {
        byte_vector frame(bytes);
        for (uint32_t i = 0; i < bytes; ++i) frame[i] = static_cast<uint8_t>(i * 7 + (i >> 8));
        rte_mbuf* const m = l.controller().egress().originate(0, frame);
        ASSERT_NE(m, nullptr) << bytes;
        EXPECT_EQ(m->pkt_len, bytes);
        EXPECT_EQ(m->nb_segs, (bytes + room - 1) / room);
        EXPECT_EQ(path_lab::bytes_of(m), frame);
        rte_mbuf_sanity_check(m, 1);
        l.controller().egress().drop(m, 0, drop_reason::stopping);
    }
}

/// Without a buffer for its end, nothing of it is left.
TEST(control_tx, a_frame_that_the_pool_has_too_few_buffers_for) {
    lab l(router());
    std::vector<rte_mbuf*> taken;
    while (rte_mbuf* m = rte_pktmbuf_alloc(l.controller().pool())) taken.push_back(m);
    for (int i = 0; i < 3; ++i) {
        rte_pktmbuf_free(taken.back());
        taken.pop_back();
    }
    const byte_vector frame(9014);
    EXPECT_EQ(l.controller().egress().originate(0, frame), nullptr);
    unsigned left = 0;
    while (rte_mbuf* m = rte_pktmbuf_alloc(l.controller().pool())) {
        taken.push_back(m);
        ++left;
    }
    EXPECT_EQ(left, 3U);
    for (rte_mbuf* m : taken) rte_pktmbuf_free(m);
}

/// While the worker does not take them.
TEST(control_tx, packets_beyond_a_full_ring_are_dropped_and_counted) {
    lab l(router());
    const uint64_t drops = l.dropped(drop_reason::inject_ring_full);
    const datapath::egress west{.port = 0, .interface = l.snapshot().port[0].untagged};
    const byte_vector frame(60);
    constexpr size_t offered = 2000;
    for (size_t n = 0; n < offered; ++n) {
        rte_mbuf* const m = l.controller().egress().originate(0, frame);
        ASSERT_NE(m, nullptr);
        l.controller().egress().send(m, west);
    }
    const uint64_t dropped = l.dropped(drop_reason::inject_ring_full) - drops;
    EXPECT_GT(dropped, 0U);
    size_t sent = 0;
    for (int round = 0; round < 100; ++round) {
        l.settle();
        sent += l.sent(0).size();
    }
    EXPECT_EQ(sent, offered - dropped);
    l.check_balance();
}

}  // namespace
}  // namespace turnpike
