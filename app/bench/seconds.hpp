// SPDX-License-Identifier: BSD-3-Clause
// Time by the TSC.
#pragma once

#include <rte_cycles.h>

namespace turnpike::bench {

inline double seconds_since(uint64_t start) {
    return static_cast<double>(rte_rdtsc() - start) / static_cast<double>(rte_get_tsc_hz());
}

}  // namespace turnpike::bench
