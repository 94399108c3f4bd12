// SPDX-License-Identifier: BSD-3-Clause
// Rule sets and headers for the classification bench.
#pragma once

#include <string>
#include <vector>

#include "acl/rule_file.hpp"

namespace turnpike::bench {

struct rule_set {
    std::string name;
    acl::family kind = acl::family::ipv4;
    std::vector<acl::rule> rules;
};

/// Sets with what ClassBench's seeds are known for (Taylor and Turner 2007): few, nested address
/// blocks; access lists with long prefixes and exact destination ports, firewalls with wildcards and
/// port ranges, IP chains between. 1,000 and 10,000 rules of each; and access lists of IPv6.
std::vector<rule_set> generate_sets();
/// All files whose names begin with the same letters (acl1_1k, acl2_10k: acl), one after the other.
std::vector<rule_set> concatenations(const std::vector<rule_set>& sets);

/// Headers, as keys of the family lie in memory, one after the other.
/// kind  rules: of a rule drawn uniformly, anywhere in it; pareto: the same, each repeated as often
///       as a Pareto distribution says and shuffled; random: any bits
std::vector<uint8_t> make_headers(const rule_set& set, const std::string& kind, size_t count);

}  // namespace turnpike::bench
