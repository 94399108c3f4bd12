// SPDX-License-Identifier: BSD-3-Clause
// What makes one desired state of another.
#pragma once

#include <string>
#include <vector>

#include "state/desired.hpp"

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
    change_list<std::string> ports, interfaces, acls;
    /// Of the ports that changed: those that are closed and opened anew.
    std::vector<std::string> reopened;
    change_list<neighbour_name> neighbours;
    route_changes routes;
    bool workers = false;
    bool settings = false;  ///< sending, messages, limits, control or pcie_profiles

    [[nodiscard]] bool empty() const noexcept {
        return ports.empty() && interfaces.empty() && acls.empty() && neighbours.empty() &&
               routes.removed.empty() && routes.set.empty() && !workers && !settings;
    }
    /// "2 routes, 1 access list", for the log.
    [[nodiscard]] std::string text() const;
};

/// Errors  EBUSY with the place: something differs that only a new process can change
[[nodiscard]] result<changes> diff(const desired& before, const desired& after);

}  // namespace turnpike::state
