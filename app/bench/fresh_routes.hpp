// SPDX-License-Identifier: BSD-3-Clause
// Routing tables whose statistics, too, are drawn from a seed, so that a benchmark of many seeds is
// tuned to none: number of routes, lengths, nesting, neighbourhood, next hops, locality of traffic.
#pragma once

#include <string>

#include "routes.hpp"

namespace turnpike::bench {

struct fresh_table {
    routes table;          ///< with next hops
    unsigned width_bytes;  ///< of next hops: 2, 4 or 8 (IPv6: 4 or 8)
    uint64_t next_hops;    ///< at most this many are distinct
    locality traffic;
    uint32_t burst;
    std::string statistics;  ///< as text
};

/// Prefixes are distinct and masked to their length. rte_fib and rte_lpm have room for the routes
/// that are longer than /24.
fresh_table draw_table(int family, uint64_t seed);

}  // namespace turnpike::bench
