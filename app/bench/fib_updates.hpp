// SPDX-License-Identifier: BSD-3-Clause
// Updates per second of fib4 with a reader at full speed, and what they cost that reader.
#pragma once

#include "harness.hpp"
#include "routes.hpp"

namespace turnpike::bench {

/// Writes into the summary: updates_per_s (128 as one), single_updates_per_s, reader_slowdown; wide_update_*: the
/// next hop of a /8; burst_*: 100,000 routes go and come back, 1,000 as one. The reader runs on another core:
/// beside a spinning writer, and beside an updating one, by turns.
void measure_updates(harness& h, const routes& table);

}  // namespace turnpike::bench
