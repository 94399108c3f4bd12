// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "acl_sets.hpp"
#include "harness.hpp"

namespace turnpike::bench {

/// Remove and add single rules while a reader runs: summary updates_per_s, the minimum over the
/// measured sets, and its set.
void measure_updates(harness& h, const rule_set& set);

}  // namespace turnpike::bench
