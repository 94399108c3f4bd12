// SPDX-License-Identifier: BSD-3-Clause
// Updates per second of fib4 with a reader at full speed, and their cost for that reader.
#pragma once

#include "harness.hpp"
#include "routes.hpp"

namespace turnpike::bench {

/// Writes to the summary: updates_per_s (128 per transaction), single_updates_per_s,
/// reader_slowdown; wide_update_*: the next hop of a /8; burst_*: 100,000 routes withdrawn and
/// announced, 1,000 per transaction. The reader runs on another core: alternately with a spinning
/// writer and with an updating one.
void measure_updates(harness& h, const routes& table);

}  // namespace turnpike::bench
