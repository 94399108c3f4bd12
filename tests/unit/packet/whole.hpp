// SPDX-License-Identifier: BSD-3-Clause
// For tests of messages: a frame that parses to its end, and our address.
#pragma once

#include <gtest/gtest.h>

#include "lib/packet_bytes.hpp"
#include "packet/parse.hpp"

namespace turnpike::packet {

constexpr uint32_t our_ip = 0x0a0001fe;

inline parsed parse_whole(const test::byte_vector& frame) {
    parsed p;
    EXPECT_EQ(parse(frame, static_cast<uint32_t>(frame.size()), p), parse_status::done);
    return p;
}

}  // namespace turnpike::packet
