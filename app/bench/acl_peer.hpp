// SPDX-License-Identifier: BSD-3-Clause
// rte_acl with a rule set.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "acl_sets.hpp"

struct rte_acl_ctx;

namespace turnpike::bench {

struct acl_peer {
    std::shared_ptr<rte_acl_ctx> context;  ///< nullptr: see why_not
    std::string name;                      ///< with its max_size
    std::string why_not;
    double build_ms = 0;
    uint64_t bytes = 0;
    struct variant {
        std::string name;
        int algorithm;
        uint16_t bits;  ///< minimum permitted SIMD width
    };
    std::vector<variant> variants;  ///< algorithms that the CPU and EAL permit
};

/// max_size  rte_acl_config's, in bytes
acl_peer build_peer(const rule_set& set, unsigned categories, size_t max_size);

}  // namespace turnpike::bench
