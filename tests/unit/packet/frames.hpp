// SPDX-License-Identifier: BSD-3-Clause
// The parser's fixtures: {description, the expected result of a router, the frame}. The fuzzer's
// corpus is made of the same frames.
#pragma once

#include <string>
#include <vector>

#include "lib/packet_bytes.hpp"
#include "packet/drop_reason.hpp"

namespace turnpike::test {

struct frame_fixture {
    std::string description;
    packet::drop_reason l3_drop;
    byte_vector bytes;
};

std::vector<frame_fixture> frame_fixtures();

}  // namespace turnpike::test
