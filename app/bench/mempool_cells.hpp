// SPDX-License-Identifier: BSD-3-Clause
// The cells of turnpike-bench-mempool.
#pragma once

#include "harness.hpp"

namespace turnpike::bench {

/// Buffers allocated once and rewritten repeatedly: measures the cost of their placement.
void walk_cells(harness& h);
/// Every lcore gets and puts, 512 buffers in flight, like a worker between RX and TX rings.
void get_put_cells(harness& h);
/// One lcore gets, the other puts.
void pipeline_cells(harness& h);

/// turnpike cross-connects two simnics, with pools of either handler.
void forward_cells(harness& h);

/// Over the walk's cells: hot lines per set, maximum over mean, if the mean is at least 16.
nlohmann::json worst_set(const nlohmann::json& cells);
nlohmann::json worst_overhead(const nlohmann::json& cells);

}  // namespace turnpike::bench
