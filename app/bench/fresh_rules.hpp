// SPDX-License-Identifier: BSD-3-Clause
// Rule sets whose statistics, too, are drawn from a seed, so that a benchmark of many seeds is tuned
// to none: number of rules, prefix lengths, overlaps, kinds of ports, protocols, order.
#pragma once

#include "acl_sets.hpp"

namespace turnpike::bench {

struct fresh_rules {
    rule_set set;
    uint64_t header_seed;    ///< for make_headers()
    std::string statistics;  ///< as text
};

/// Rules are valid for lib/acl and for rte_acl: addresses are prefixes.
fresh_rules draw_rules(const std::string& name, uint64_t seed);

}  // namespace turnpike::bench
