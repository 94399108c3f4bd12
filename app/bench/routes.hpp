// SPDX-License-Identifier: BSD-3-Clause
// Tables and traffic for the lookup benchmarks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fib/table.hpp"

namespace turnpike::bench {

using routes = std::vector<fib::entry>;

/// Read prefixes of one family from a plain or gzip file, one per line; ignores the other family's
/// lines. Throws std::runtime_error with file:line.
routes read_routes(const std::string& file, int family);

/// A table with the statistics of a full one of 2024: prefix lengths, runs of adjacent prefixes,
/// nesting.
routes generate_routes(int family, size_t count);

/// 8 routes, typical of small networks: a default, two aggregates, five /24s (/64s).
routes eight_routes(int family);

/// next hop = 1 + hash(prefix) % distinct
void assign_next_hops(routes& table, uint64_t distinct);

/// The next prefix of that length.
fib::address next_prefix(const fib::address& a, unsigned length);

struct locality {
    uint64_t seed = 7;
    uint64_t flows = 1'000'000;  ///< zipf: number of flows,
    double exponent = 1;         ///< and how unequal they are
    uint64_t train = 1;          ///< consecutive packets of one address, on average
};

/// uniform: over routed addresses; prefix: a random prefix, then an address in it; zipf: flows drawn
/// like prefix; one: a single flow.
std::vector<fib::address> make_traffic(const routes& table, int family, const std::string& kind,
                                       size_t count, const locality& how = {});

}  // namespace turnpike::bench
