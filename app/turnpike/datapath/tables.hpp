// SPDX-License-Identifier: BSD-3-Clause
// What control publishes and workers read.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "datapath/burst.hpp"

namespace turnpike::datapath {

/// Index of every array: the port's place in the configuration, not its ethdev id.
/// Threads  control writes, workers read.
struct tables {
    std::array<uint16_t, max_ports> ethdev_id{};
    std::array<uint16_t, max_ports> patch_to{};  ///< the other end
    std::array<std::atomic<bool>, max_ports> link_up{};
    uint16_t ports = 0;
};

}  // namespace turnpike::datapath
