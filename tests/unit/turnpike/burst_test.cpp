// SPDX-License-Identifier: BSD-3-Clause
// Bulk computations of stages rx and tx: lengths, runts, one egress interface or several. A single packet that
// differs is found at any index, in bursts of every size.
#include <gtest/gtest.h>

#include "lib/eal.hpp"
#include "lib/path_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;

class bursts : public ::testing::Test {
  protected:
    /// A burst of `n` frames, the one at `odd` another one; by which ports how many left.
    std::array<size_t, 3> send(uint32_t n, uint32_t odd, const byte_vector& usual,
                               const byte_vector& other) {
        for (uint32_t i = 0; i < n; ++i) EXPECT_TRUE(l.offer(0, i == odd ? other : usual));
        l.worker().poll();
        l.worker().poll();
        std::array<size_t, 3> out{};
        for (uint16_t p = 0; p < out.size(); ++p) out[p] = l.sent(p).size();
        return out;
    }
    static byte_vector to(uint32_t destination, size_t bytes = 4) {
        return ethernet(0x0800, ipv4({.destination = destination}, udp(counted(bytes))),
                        {2, 0, 0, 0, 0, 0x0b}, {2, 0, 0, 0, 0, 0x0a});
    }
    /// Received at the first port.
    [[nodiscard]] uint64_t bytes() { return l.controller().report().ports[0].totals.rx_bytes; }

    running_lab l{
        "ports:\n"
        "  - {name: west, device: d0, addresses: [10.0.1.254/24]}\n"
        "  - {name: east, device: d1, addresses: [10.0.2.254/24]}\n"
        "  - {name: north, device: d2, addresses: [10.0.3.254/24]}\n"
        "neighbours:\n  static:\n"
        "    - {address: 10.0.2.2, mac: \"02:00:00:00:00:0d\"}\n"
        "    - {address: 10.0.3.2, mac: \"02:00:00:00:00:0e\"}\n"};
};

TEST_F(bursts, one_that_goes_another_way_does) {
    for (const uint32_t n : {1U, 2U, 3U, 4U, 5U, 8U, 31U, 32U})
        for (uint32_t odd = 0; odd < n; ++odd)
            EXPECT_EQ(send(n, odd, to(0x0a00'0202), to(0x0a00'0302)),
                      (std::array<size_t, 3>{0, n - 1, 1}))
                << n << ", " << odd;
}

TEST_F(bursts, one_that_is_no_frame_is_dropped) {
    uint64_t runts = 0;
    for (const uint32_t n : {1U, 3U, 4U, 7U, 32U})
        for (uint32_t odd = 0; odd < n; ++odd) {
            EXPECT_EQ(send(n, odd, to(0x0a00'0202), zeros(13)),
                      (std::array<size_t, 3>{0, n - 1, 0}))
                << n << ", " << odd;
            EXPECT_EQ(l.dropped(drop_reason::runt), ++runts);
        }
}

TEST_F(bursts, bytes_are_counted_whatever_their_sizes) {
    const byte_vector usual = to(0x0a00'0202, 100), other = to(0x0a00'0202, 1000);
    for (const uint32_t n : {1U, 3U, 4U, 6U, 32U})
        for (uint32_t odd = 0; odd < n; ++odd) {
            const uint64_t before = bytes();
            send(n, odd, usual, other);
            EXPECT_EQ(bytes() - before, (n - 1) * usual.size() + other.size()) << n << ", " << odd;
        }
}

}  // namespace
}  // namespace turnpike
