// SPDX-License-Identifier: BSD-3-Clause
// The packet pool: made by the handler that is asked for, and described for the report.
#pragma once

#include <rte_mempool.h>

#include "base/result.hpp"
#include "config/model.hpp"
#include "cost/report.hpp"

namespace turnpike::control {

/// The pool of `model.pool`, by the handler named there, else by EAL's --mbuf-pool-ops-name, else by
/// ours (cache_aware).
/// Errors  EINVAL: no such handler here (the message lists them), or one for a single thread;
///         ENOMEM: no room
[[nodiscard]] result<rte_mempool*> make_packet_pool(const config::model& model);

/// Handler, placement, overhead, lines per set; low_water: all of them.
[[nodiscard]] cost::mempool_report facts_of(rte_mempool& pool);

}  // namespace turnpike::control
