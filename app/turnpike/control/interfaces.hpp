// SPDX-License-Identifier: BSD-3-Clause
// The interfaces of the view: their places, addresses, and the routes that follow from those.
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

    /// Needs port_place and view.port[].state; gives interface_place, derived, view.interfaces.
    [[nodiscard]] result<std::unique_ptr<staged>> prepare(change& c) override;

    /// What runs: places by name.
    [[nodiscard]] const change::places& places() const noexcept { return places_; }
    [[nodiscard]] const std::string& name_of(uint16_t place) const noexcept;

  private:
    class staged_interfaces;

    next_hops& hops_;
    change::places places_;
    std::map<uint16_t, uint32_t> glean_;  ///< of routed interfaces, by place
    std::vector<std::unique_ptr<const datapath::interface_addresses>> addresses_;
    std::vector<std::shared_ptr<uint16_t[]>> vlan_maps_;  ///< that ports' by_vlan lead to
};

}  // namespace turnpike::control
