// SPDX-License-Identifier: BSD-3-Clause
// The packet pool: made by the handler that is asked for, and described for the report.
#pragma once

#include <rte_mempool.h>

#include "base/result.hpp"
#include "observe/report.hpp"
#include "state/desired.hpp"

namespace turnpike::control {

/// Without so many a port's receive rings cannot be filled.
[[nodiscard]] uint32_t buffers_least(const state::desired& wanted);
/// As many as the configuration says, else as ports and workers can hold at a time, and half as many.
[[nodiscard]] uint32_t buffers_for(const state::desired& wanted, uint32_t workers);

/// The pool, by the handler named in the configuration, else by EAL's --mbuf-pool-ops-name, else by
/// ours (cache_aware).
/// Errors  EINVAL: too few buffers, no such handler here (the message lists them), or one for a single
///         thread; ENOMEM: no room
[[nodiscard]] result<rte_mempool*> make_packet_pool(const state::desired& wanted, uint32_t workers);

/// So many buffers any lcore can get: what lies in an lcore's cache nobody else does. About so many
/// while workers run.
[[nodiscard]] uint32_t left_to_all(rte_mempool& pool) noexcept;

/// All that is reported of a pool that nobody uses yet.
[[nodiscard]] observe::mempool_report facts_of(rte_mempool& pool);

}  // namespace turnpike::control
