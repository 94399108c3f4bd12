// SPDX-License-Identifier: BSD-3-Clause
// EAL for targets that run the real controller: private memory, no files, no devices.
#pragma once

#include <rte_eal.h>

#include <iterator>

#include "lib/require.hpp"

namespace turnpike::test {

/// Called once per process, before the first input.
inline void start_eal() {
    static char words[][16] = {"fuzz", "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry",
                               "-m",   "400",       "--lcores",    "(0-2)@0",  "--log-level=4"};
    static char* argv[std::size(words)];
    for (size_t i = 0; i < std::size(words); ++i) argv[i] = words[i];
    REQUIRE(rte_eal_init(static_cast<int>(std::size(words)), argv) >= 0);
}

}  // namespace turnpike::test
