// SPDX-License-Identifier: BSD-3-Clause
// The rate limit of unsolicited ARP messages: the messages that it applies to.
#include <gtest/gtest.h>

#include "lib/eal.hpp"
#include "lib/path_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;

class neighbour_rate : public ::testing::Test {
  protected:
    static constexpr unsigned rate = 100, burst = rate / 10;  ///< a tenth of a second's worth
    /// The number of answered requests from a host at west for `target`.
    unsigned answered(uint32_t target, unsigned times = 1) {
        const byte_vector host{2, 0, 0, 0, 0, 0x0a};
        unsigned replies = 0;
        while (times-- != 0) {
            EXPECT_TRUE(l.offer(0, ethernet(0x0806,
                                            arp({.operation = 1,
                                                 .sender_mac = host,
                                                 .sender_ip = 0x0a000101,
                                                 .target_mac = byte_vector(6),
                                                 .target_ip = target}),
                                            byte_vector(6, 0xff), host)));
            l.settle();
            for (const byte_vector& f : l.sent(0)) replies += f[12] == 0x08 && f[21] == 2;
        }
        return replies;
    }
    static constexpr uint32_t ours = 0x0a0001fe, others = 0x0a00014d;
    running_lab l{
        "ports:\n"
        "  - {name: west, device: d0, addresses: [10.0.1.254/24]}\n"
        "  - {name: east, device: d1, addresses: [10.0.2.254/24]}\n"
        "neighbours: {rate: " +
        std::to_string(rate) + "}\n"};
};

TEST_F(neighbour_rate, is_of_requests_for_us) {
    EXPECT_EQ(answered(ours, 3 * burst), burst);
    EXPECT_EQ(l.dropped(drop_reason::neighbour_rate), 2 * burst);
}

/// A host that scans the link keeps no other from the address of its gateway.
TEST_F(neighbour_rate, is_not_of_requests_for_others) {
    EXPECT_EQ(answered(others, 3 * burst), 0U);
    EXPECT_EQ(answered(ours), 1U);
    EXPECT_EQ(l.dropped(drop_reason::neighbour_rate), 0U);
}

}  // namespace
}  // namespace turnpike
