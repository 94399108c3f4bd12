// SPDX-License-Identifier: BSD-3-Clause
// Descriptor thresholds by driver: how many descriptors are refilled, reported and freed together.
#pragma once

#include <cstdint>
#include <string_view>

struct rte_eth_dev_info;

namespace turnpike::rxtx {

/// Descriptors; 0 leaves the driver's own default.
struct thresholds {
    uint16_t rx_free = 0;  ///< RX descriptors refilled in one block, one tail write each
    uint16_t tx_rs = 0;    ///< TX descriptors between two write-back requests (RS bits)
    uint16_t tx_free = 0;  ///< TX descriptors freed in one block
};

/// What `driver` (rte_eth_dev_info::driver_name) works best with, for rings of `descriptors`.
/// A ring that a threshold does not divide keeps the driver's defaults. Threads: any. Errors: none.
thresholds thresholds_of(std::string_view driver, uint16_t descriptors) noexcept;

}  // namespace turnpike::rxtx
