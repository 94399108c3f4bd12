// SPDX-License-Identifier: BSD-3-Clause
// Bit vectors: a second form of a list, beside its trees, which mostly classifies faster.
//
// Rules are divided into groups by bytes of the key (rule_groups.hpp). In a group each byte of the key that rules test has a
// vector for each of its values, with the rules that the value matches; ports have a vector for each interval between the
// ends of rules' ranges; in a single group of over 255 rules two bytes of an address have a vector together, where these are
// few. A rule matches if it is in the vectors of all fields. (Lakshman and Stiliadis, "High-speed policy-based packet
// forwarding using efficient multi-dimensional range matching", SIGCOMM 1998, section 4; here by bytes, which is
// exact since masks and prefixes are a conjunction of their bytes.) A changed rule changes many vectors:
// a change drops them.
#pragma once

#include <memory>
#include <vector>

#include "acl/layout.hpp"
#include "acl/rule.hpp"
#include "base/memory.hpp"

namespace turnpike::acl {

struct bit_vectors_owner {
    void operator()(const bit_vectors* gone) const noexcept;
};
using owned_bit_vectors = std::unique_ptr<const bit_vectors, bit_vectors_owner>;

/// rules   highest priority first
/// view    the generation's: how keys lie, and the rules' categories
/// held    raised by the bytes of the vectors; lowered again when they are destroyed
/// Answers  null if there are no rules or over bit_vectors::max_rules, if they cannot be divided without too many copies, if
///          they need more than max_bytes, or without memory
template <unsigned Words>
owned_bit_vectors make_bit_vectors(const std::vector<packed_rule<Words>>& rules, const view& view,
                                   const memory& from, uint64_t max_bytes,
                                   const std::shared_ptr<uint64_t>& held) noexcept;
/// Bytes of the allocation.
uint64_t bytes_of(const bit_vectors& v) noexcept;

}  // namespace turnpike::acl
