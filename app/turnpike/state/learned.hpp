// SPDX-License-Identifier: BSD-3-Clause
// Objects learned from the kernel (sources/netlink_rib.hpp), and those of them that count beside a configuration. On a
// conflict the operator's objects take precedence. Addresses and administrative status are merged into a copy of the
// configuration; routes and neighbours, which are many and change often, stay beside it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "state/configuration.hpp"

namespace turnpike::state {

struct learned {
    route_set routes{};
    std::map<std::string, std::vector<ip_prefix>, std::less<>> addresses{};  ///< by interface
    std::set<neighbour_name> no_dad{};  ///< addresses with IFA_F_NODAD
    std::map<neighbour_name, mac_address> neighbours{};
    std::map<std::string, route_set, std::less<>> vrf_routes{};  ///< by VRF
    std::set<std::string, std::less<>> admin_down{};             ///< interfaces that are set down
    /// The routes of a VRF; "": main.
    [[nodiscard]] const route_set& routes_of(const std::string& vrf) const;
};

/// The learned routes of a VRF (empty: main) in a configuration. Next hops that it cannot use are left out: via absent
/// interfaces, local addresses, or links of another VRF. A route without another next hop is not followed: it drops, since
/// the kernel would not forward by a shorter prefix.
[[nodiscard]] route_set followed_routes(const configuration& in, const std::string& vrf,
                                        const route_set& routes);

/// The kernel's routes and permanent neighbours that count beside a configuration. They are in no file, and changes of
/// the configuration keep them (controller::learn).
struct followed {
    std::map<std::string, route_set, std::less<>> routes{};  ///< of each VRF; "": main
    std::map<neighbour_name, mac_address> neighbours{};      ///< the operator's are left out
    size_t neighbours_left_out = 0;  ///< beyond half of neighbours.max_entries
    [[nodiscard]] size_t route_count() const noexcept;
};

/// The learned objects that count beside a configuration, which has the learned addresses: followed_routes(), and
/// permanent neighbours via mirrored interfaces, up to half of neighbours.max_entries.
[[nodiscard]] followed follow(const configuration& in, const learned& l);

/// Removes addresses that the operator deleted and that the kernel only had from the configuration.
void forget_removed(learned& l, const configuration& before, const configuration& after) noexcept;

/// The operator's configuration with the learned addresses of mirrored interfaces after the configured ones, where an address
/// on another interface's network is left out; and without the addresses, routes and neighbours of interfaces that are
/// administratively down, as the kernel has it (fib_disable_ip(), rt6_disable_ip()). VLAN interfaces are down with that of
/// their port.
/// Returns  null if nothing differs
[[nodiscard]] std::shared_ptr<const configuration> with_interfaces(const configuration& operators,
                                                                   const learned& l);

}  // namespace turnpike::state
