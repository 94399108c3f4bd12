// SPDX-License-Identifier: BSD-3-Clause
// Four ports; the test sends the neighbours' frames.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "lib/path_lab.hpp"

namespace turnpike::test {

class neighbour_lab : public ::testing::Test {
  protected:
    explicit neighbour_lab(const std::string& configuration) : lab_(configuration) {}
    void SetUp() override { forget(); }
    void TearDown() override {
        for (int i = 0; i < 6; ++i) {  // until unanswered entries are given up
            lab_.control(2'000);
            lab_.settle();
        }
        forget();
        lab_.check_balance();
    }
    void forget() {
        for (uint16_t p = 0; p < 4; ++p) (void)lab_.sent(p);
    }
    static byte_vector us(uint16_t port) {
        return {2, 0, 0, 0, 0, static_cast<uint8_t>(0x0b + port)};
    }
    /// An ARP reply to one of our addresses.
    void answer(uint16_t port, uint32_t from, uint32_t ours, const byte_vector& mac) {
        lab_.offer(port, ethernet(0x0806,
                                  arp({.operation = 2,
                                       .sender_mac = mac,
                                       .sender_ip = from,
                                       .target_mac = us(port),
                                       .target_ip = ours}),
                                  us(port), mac));
        lab_.settle();
    }
    running_lab lab_;
};

}  // namespace turnpike::test
