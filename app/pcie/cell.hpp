// SPDX-License-Identifier: BSD-3-Clause
// One row of the output: a profile at a frame size.
#pragma once

#include <cstdint>
#include <vector>

#include "options.hpp"
#include "pcie/cost.hpp"

namespace turnpike::pcie_tool {

struct cell {
    uint32_t frame_bytes = 0;
    double ethernet_gbps = 0;  ///< the port's speed; 0: none
    pcie::bill bill;
    pcie::throughput tx, rx, both;   ///< throughput of the link alone
    pcie::throughput with_ethernet;  ///< both directions, limited by the port's speed
};

/// Prices each profile (outer loop) at each frame size (inner loop).
///
/// Errors  EINVAL: see pcie::cost()
[[nodiscard]] result<std::vector<cell>> price(const request& r);

}  // namespace turnpike::pcie_tool
