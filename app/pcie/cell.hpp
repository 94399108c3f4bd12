// SPDX-License-Identifier: BSD-3-Clause
// One row of every output: a profile at a frame size.
#pragma once

#include <cstdint>
#include <vector>

#include "options.hpp"
#include "pcie/cost.hpp"

namespace turnpike::pcie_tool {

struct cell {
    uint32_t frame_bytes = 0;
    double ethernet_gbps = 0;  ///< of the port; 0: none
    pcie::bill bill;
    pcie::throughput tx, rx, both;   ///< of the link alone
    pcie::throughput with_ethernet;  ///< both ways, at most the port's speed
};

/// Profiles outside, frame sizes inside.
/// Errors  EINVAL: see pcie::cost()
[[nodiscard]] result<std::vector<cell>> price(const request& r);

}  // namespace turnpike::pcie_tool
