// SPDX-License-Identifier: BSD-3-Clause
// What the kernel's network stack says beside the operator (sources/kernel_mirror.hpp), and what a state is
// with it: the operator's word counts where the two cannot both be.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "state/desired.hpp"

namespace turnpike::state {

struct learned {
    route_set routes{};
    std::map<std::string, std::vector<ip_prefix>, std::less<>> addresses{};  ///< by interface
    std::map<neighbour_name, mac_address> neighbours{};
    std::map<std::string, route_set, std::less<>> vrf_routes{};  ///< by VRF
    [[nodiscard]] bool empty() const noexcept {
        return routes.empty() && vrf_routes.empty() && addresses.empty() && neighbours.empty();
    }
};

/// Take members out of what routes lead to; routes that have none left go.
/// Answers  whether there were any
bool change_members(route_set& in, const std::function<bool(const route_member&)>& stays);

/// Addresses that the operator has taken back, which the kernel had of him.
void take_back(learned& l, const desired& said_before, const desired& says) noexcept;

/// The operator's state, and what is learned: addresses behind those of each interface that the kernel has, too,
/// and routes and static neighbours by these interfaces. What cannot be with the operator's is left out: an address on another's
/// network, a route by an interface that is not there or to a neighbour that is ourselves, a neighbour that the
/// operator has said himself, or that is more than half of neighbours.limit.
/// Answers  `said` itself where that adds nothing
[[nodiscard]] std::shared_ptr<const desired> with_learned(std::shared_ptr<const desired> said,
                                                          const learned& l);

}  // namespace turnpike::state
