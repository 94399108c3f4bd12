// SPDX-License-Identifier: BSD-3-Clause
// What DPDK says goes the way of our own log, where that is no plain text: then each line is one entry.
#pragma once

namespace turnpike::control {

/// Before rte_eal_init. Text stays DPDK's own, as it writes it.
void take_eal_log();
/// Before the log's thread ends: DPDK writes to standard error again.
void give_eal_log_back() noexcept;

}  // namespace turnpike::control
