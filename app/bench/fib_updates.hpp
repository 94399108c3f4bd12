// SPDX-License-Identifier: BSD-3-Clause
// Updates per second of fib4 with a reader at full speed, and what they cost that reader.
#pragma once

#include "harness.hpp"
#include "routes.hpp"

namespace turnpike::bench {

/// Writes updates_per_s and reader_slowdown into the summary. The reader runs on another core:
/// first beside a spinning writer, then beside an updating one, by turns.
void measure_updates(harness& h, const routes& table);

}  // namespace turnpike::bench
