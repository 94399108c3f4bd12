// SPDX-License-Identifier: BSD-3-Clause
// The lookup benchmarks' inner loop, and the peers of both families.
#pragma once

#include <memory>
#include <vector>

#include "harness.hpp"
#include "net/ip.hpp"
#include "routes.hpp"
#include "slices.hpp"

namespace turnpike::bench {

/// The first half of the traffic is warm-up, the second half is timed: different addresses from the
/// same distribution, so that caches are as warm as with steady traffic, but not with exactly these
/// addresses. Cycles per lookup.
template <class Address, class Lookup>
double cycles_per_lookup(const std::vector<Address>& traffic, uint32_t burst,
                         const Lookup& lookup) {
    alignas(64) uint64_t nexthop[512];
    const size_t half = traffic.size() / 2 / burst * burst;
    const auto pass = [&](size_t from, size_t end) {
        for (size_t i = from; i < end; i += burst) {
            lookup(&traffic[i], nexthop, burst);
            asm volatile("" ::"r"(nexthop) : "memory");
        }
    };
    pass(0, half);
    return median_cycles(half, 2 * half, burst, pass);
}

/// A peer's loaded table, with all its lookup functions.
template <class Address>
struct peer_table {
    struct variant {
        std::string name;
        uint16_t bits;  ///< minimum permitted SIMD width
        std::function<double(const std::vector<Address>&, uint32_t burst)> cycles;
    };
    std::shared_ptr<void> keep;
    std::vector<variant> variants;
    double load_seconds = 0;
    uint64_t refused = 0;  ///< routes that it rejected
    std::string why_not;   ///< the reason for empty variants
};

/// rte_fib with each lookup type that rte_fib_select_lookup accepts; rte_lpm, bulk and x4.
std::vector<peer_table<uint32_t>> ipv4_peers(const routes& table, unsigned width_bytes);
/// The same for rte_fib6.
std::vector<peer_table<ipv6_address>> ipv6_peers(const routes& table, unsigned width_bytes);

}  // namespace turnpike::bench
