// SPDX-License-Identifier: BSD-3-Clause
// Rule sets and headers for the classification benchmark.
#pragma once

#include <string>
#include <vector>

#include "acl/rule_file.hpp"

namespace turnpike::bench {

constexpr uint64_t usual_header_seed = 42;

struct rule_set {
    std::string name;
    acl::family kind = acl::family::ipv4;
    std::vector<acl::rule> rules;
};

/// Sets with the characteristics of ClassBench's seeds (Taylor and Turner 2007): few, nested
/// address blocks; access lists with long prefixes and exact destination ports, firewalls with
/// wildcards and port ranges, IP chains in between. 1,000 and 10,000 rules of each; and access
/// lists of IPv6.
std::vector<rule_set> generate_sets();
/// Concatenates all sets whose names begin with the same letters (acl1_1k, acl2_10k: acl).
std::vector<rule_set> concatenations(const std::vector<rule_set>& sets);

/// Sort as in ClassBench's filters: more specific rules first.
void sort_by_specificity(rule_set& set);
/// Priorities and results by position: the first rule has the highest priority.
void number_rules(rule_set& set);

/// Headers, as consecutive keys in the family's layout.
///
/// kind  rules: drawn uniformly from the rules, at a random point in the rule; pareto: the same,
///       each repeated by a Pareto distribution and shuffled; random: random bits
std::vector<uint8_t> make_headers(const rule_set& set, const std::string& kind, size_t count,
                                  uint64_t seed = usual_header_seed);

}  // namespace turnpike::bench
