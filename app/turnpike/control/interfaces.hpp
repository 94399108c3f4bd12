// SPDX-License-Identifier: BSD-3-Clause
// The interfaces of the view: their indices, addresses, and the routes derived from those.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "control/change.hpp"
#include "control/next_hops.hpp"

namespace turnpike::control {

/// Threads  control.
class interfaces : public owner {
  public:
    explicit interfaces(next_hops& hops) : hops_(hops) {}

    /// Needs port_place and view.port[].state; fills interface_place, derived, view.interfaces.
    [[nodiscard]] result<std::unique_ptr<staged>> prepare(change& c) override;

    /// Indices by name, of the running configuration.
    [[nodiscard]] const change::places& indexes() const noexcept { return places_; }
    [[nodiscard]] const std::string& name_of(uint16_t place) const noexcept;

  private:
    class staged_interfaces;

    next_hops& hops_;
    change::places places_;
    std::map<uint16_t, uint32_t> glean_;  ///< by interface index, of routed interfaces
    std::vector<std::unique_ptr<const datapath::interface_addresses>> addresses_;
    std::vector<std::shared_ptr<uint16_t[]>> vlan_maps_;  ///< storage for ports' by_vlan
};

}  // namespace turnpike::control
