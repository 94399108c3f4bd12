// SPDX-License-Identifier: BSD-3-Clause
// The routes of a transaction, between the steps of routing.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "control/routing/left_out.hpp"
#include "state/changes.hpp"

namespace turnpike::control {

/// A resolved next hop of a recursive route: a neighbour, or a fixed next hop of kind drop.
struct resolved_path {
    state::route_member to{};
    std::optional<uint32_t> drops{};
};

/// The routes of one source (operator or kernel), with their next hops.
struct routes_with_nexthops {
    const state::route_set* set = nullptr;
    std::vector<uint32_t> nexthop_of_target{};  ///< like set->targets()
    /// Next hop of exactly this prefix; none: no route, or no room for its next hop.
    [[nodiscard]] std::optional<uint32_t> nexthop(const ip_prefix& to) const noexcept {
        const auto target = set == nullptr ? std::nullopt : set->at(to);
        if (!target || nexthop_of_target[*target] == no_nexthop) return std::nullopt;
        return nexthop_of_target[*target];
    }
};

/// The same, resolved step by step. Vectors are indexed like set->targets().
struct resolved_routes : routes_with_nexthops {
    const state::route_changes* what = nullptr;
    /// of recursive targets, by recursion; empty: not resolved
    std::vector<std::vector<resolved_path>> paths{};
    /// next hop indices of a target's members, or of its paths, by neighbours; no_nexthop: no room
    std::vector<std::vector<uint32_t>> nexthops_of_members{};
};

/// The routes of a VRF.
struct vrf_routes {
    uint8_t vrf = 0;  ///< index into snapshot::vrf
    resolved_routes operators{}, learned{};
    /// next hops of connected networks, local addresses and static neighbours
    std::map<ip_prefix, uint32_t> derived{};
};

struct routes_in_progress {
    std::vector<vrf_routes> tables{};  ///< the main table first
    left_out out{};  ///< of the kernel's objects, except routes that the FIB has no room for
    bool had_left_out = false;  ///< objects were left out until now: they may find room
    [[nodiscard]] vrf_routes& of(uint8_t vrf) noexcept {
        return *std::find_if(tables.begin(), tables.end(),
                             [&](const vrf_routes& t) { return t.vrf == vrf; });
    }
};

}  // namespace turnpike::control
