// SPDX-License-Identifier: BSD-3-Clause
// Injects frames into `source`, so that they arrive at `west`: BPF_PROG_TEST_RUN on live frames
// (Linux 5.18) passes them to the veth pair without a socket or a copy, several million per second
// on one core.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "base/result.hpp"

namespace turnpike::bench {

/// 64 bytes with FCS; or 7 x 64, 4 x 594, 1 x 1518 in turns of 12 ("simple IMIX").
enum class traffic { small, imix };

class generator {
  public:
    /// cpu  its exclusive CPU
    [[nodiscard]] static result<std::unique_ptr<generator>> open(unsigned cpu);
    ~generator();

    /// pps  0: maximum rate
    void start(traffic t, double pps);
    /// Frames sent since start().
    uint64_t stop();

  private:
    struct state;
    explicit generator(std::unique_ptr<state> s);
    std::unique_ptr<state> state_;
};

}  // namespace turnpike::bench
