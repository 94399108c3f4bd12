// SPDX-License-Identifier: BSD-3-Clause
// The differences of two configurations.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "state/configuration.hpp"
#include "state/learned.hpp"

namespace turnpike::state {

template <class Name>
struct change_list {
    std::vector<Name> removed, added, changed;
    [[nodiscard]] bool empty() const noexcept {
        return removed.empty() && added.empty() && changed.empty();
    }
    [[nodiscard]] size_t size() const noexcept {
        return removed.size() + added.size() + changed.size();
    }
};

struct changes {
    change_list<std::string> ports, interfaces, bridges, tunnels, mirrors, acls, vrfs;
    /// Changed ports that are closed and reopened.
    std::vector<std::string> reopened;
    change_list<neighbour_name> neighbours;
    route_changes routes;
    /// Changes of the VRFs that exist afterwards.
    std::map<std::string, route_changes> vrf_routes;
    /// Changes of the kernel's objects (add_learned()); routes by VRF, "": main.
    std::map<std::string, route_changes, std::less<>> learned;
    change_list<neighbour_name> learned_neighbours;
    bool workers = false;
    /// sending, idle, messages, sharing, limits, control, control_plane, metrics, sflow or pcie_profiles
    bool settings = false;

    [[nodiscard]] bool empty() const noexcept {
        return ports.empty() && interfaces.empty() && bridges.empty() && tunnels.empty() &&
               mirrors.empty() && acls.empty() && vrfs.empty() && neighbours.empty() &&
               route_count() == 0 && learned_count() == 0 && learned_neighbours.empty() &&
               !workers && !settings;
    }
    /// Changed routes of the operator, in all VRFs.
    [[nodiscard]] size_t route_count() const noexcept;
    [[nodiscard]] size_t removed_routes() const noexcept;
    [[nodiscard]] size_t learned_count() const noexcept;
    /// "2 routes, 1 access list", for the log.
    [[nodiscard]] std::string text() const;
};

/// Errors  EBUSY with the location: a difference that needs a restart
[[nodiscard]] result<changes> diff(const configuration& before, const configuration& after);

/// Adds the differences of the kernel's objects.
void add_learned(changes& to, const followed& before, const followed& after);

}  // namespace turnpike::state
