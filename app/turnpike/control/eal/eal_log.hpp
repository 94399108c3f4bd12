// SPDX-License-Identifier: BSD-3-Clause
// DPDK's log goes to our log, where its format is not plain text: each line becomes an entry.
#pragma once

namespace turnpike::control {

/// Call before rte_eal_init. In text format DPDK writes its log itself.
void redirect_eal_log();
/// Call before the log's thread ends: DPDK writes to standard error again.
void restore_eal_log() noexcept;

}  // namespace turnpike::control
