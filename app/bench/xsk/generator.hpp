// SPDX-License-Identifier: BSD-3-Clause
// Frames into `source`, so that they arrive at `west`: BPF_PROG_TEST_RUN on live frames (Linux 5.18)
// gives them to the cable without a socket or a copy, several million a second on one core.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "base/result.hpp"

namespace turnpike::bench {

/// 64 bytes with FCS; or 7 x 64, 4 x 594, 1 x 1518 by turns of 12 ("simple IMIX").
enum class traffic { small, imix };

class generator {
  public:
    /// cpu  that it works on, alone
    [[nodiscard]] static result<std::unique_ptr<generator>> open(unsigned cpu);
    ~generator();

    /// pps  0: as fast as it can
    void start(traffic t, double pps);
    /// Frames sent since start().
    uint64_t stop();

  private:
    struct state;
    explicit generator(std::unique_ptr<state> s);
    std::unique_ptr<state> state_;
};

}  // namespace turnpike::bench
