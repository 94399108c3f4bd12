// SPDX-License-Identifier: BSD-3-Clause
// Objects learned from the kernel (sources/netlink_rib.hpp), and their merge into the configuration. On a
// conflict the operator's objects take precedence.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "state/configuration.hpp"

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

/// The learned routes of a VRF (empty: main) in a configuration. Next hops that it cannot use are left out: via absent
/// interfaces, local addresses, or links of another VRF. A route without another next hop is not followed: it drops, since
/// the kernel would not forward by a shorter prefix.
[[nodiscard]] route_set followed_routes(const configuration& in, const std::string& vrf,
                                        const route_set& routes);

/// Removes addresses that the operator deleted and that the kernel only had from the configuration.
void take_back(learned& l, const configuration& said_before, const configuration& says) noexcept;

/// The operator's configuration with the learned objects: addresses of mirrored interfaces, after the configured ones,
/// followed_routes(), and static neighbours via these interfaces. Conflicting objects are omitted: an address on another
/// interface's network, a neighbour that the operator configured, or neighbours beyond half of neighbours.limit.
/// neighbours_left_out  number of neighbours beyond that limit; null: not counted
/// Returns  null if there is nothing to add
[[nodiscard]] std::shared_ptr<configuration> with_learned(const configuration& said,
                                                          const learned& l,
                                                          size_t* neighbours_left_out = nullptr);

}  // namespace turnpike::state
