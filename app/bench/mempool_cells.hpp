// SPDX-License-Identifier: BSD-3-Clause
// The cells of turnpike-bench-mempool.
#pragma once

#include "harness.hpp"

namespace turnpike::bench {

/// Buffers taken once and rewritten over and over: what their placement costs.
void walk_cells(harness& h);
/// Every lcore gets and puts, 512 buffers in flight, as a worker between receive and send rings does.
void get_put_cells(harness& h);
/// One lcore gets, the other puts.
void pipeline_cells(harness& h);

/// turnpike patches on two simnics, with pools of either handler.
void forward_cells(harness& h);

/// Over the walk's cells: hot lines per set, most over mean, where the mean is at least 16.
nlohmann::json worst_set(const nlohmann::json& cells);
nlohmann::json worst_overhead(const nlohmann::json& cells);

}  // namespace turnpike::bench
