// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "acl_sets.hpp"
#include "harness.hpp"

namespace turnpike::bench {

/// Single rules taken out and put back beside a reader: summary updates_per_s, the least of the
/// sets measured, and which it was.
void measure_updates(harness& h, const rule_set& set);

}  // namespace turnpike::bench
