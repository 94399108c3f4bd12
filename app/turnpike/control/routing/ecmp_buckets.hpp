// SPDX-License-Identifier: BSD-3-Clause
// Assignment of the buckets of an ECMP group to its members.
//
// Each bucket belongs to the usable member with the highest score for it: highest random weight
// hashing (Thaler and Ravishankar, "Using name-based mappings to increase hit rates", 1998), with
// weights after Schindelhauer and Schomaker, "Weighted distributed hash tables" (2005). If one of n
// members fails, only its flows move, evenly to the others; when it recovers it gets the same
// buckets back; a new member takes its share of each. Scores are computed from the members' names,
// so the same configuration maps flows the same way after a restart.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "datapath/nexthop_group.hpp"

namespace turnpike::control {

/// Every bit of the result depends on every input bit: the finalizer of SplitMix64 (Steele, Lea and
/// Flood, 2014).
[[nodiscard]] uint64_t mix(uint64_t x) noexcept;

/// A member of a group.
struct group_member {
    uint64_t name = 0;  ///< hash of the member's address and interface
    uint32_t nexthop = 0;
    uint16_t weight = 1;
    bool use_neigh = false;  ///< left out while its neighbour does not answer
    auto operator<=>(const group_member&) const = default;
};

/// Number of buckets of a group.
[[nodiscard]] uint32_t buckets_for(size_t members) noexcept;

/// A previous table of the same members.
struct group_before {
    const datapath::nexthop_group* table = nullptr;  ///< null: none
    const std::vector<bool>* able = nullptr;         ///< null: no member has become usable since
};

/// The work of making tables.
struct group_work {
    uint64_t scores = 0;      ///< of a member and a bucket
    uint64_t logarithms = 0;  ///< computed for them
    group_work& operator+=(const group_work& o) noexcept {
        scores += o.scores;
        logarithms += o.logarithms;
        return *this;
    }
};

/// Assign the buckets to usable members; to all members if none is usable.
/// work  if not null: the work is added
/// Throws std::bad_alloc
[[nodiscard]] datapath::nexthop_group::owned make_group(std::span<const group_member> members,
                                                        const std::vector<bool>& able,
                                                        const group_before& before,
                                                        group_work* work = nullptr);

}  // namespace turnpike::control
