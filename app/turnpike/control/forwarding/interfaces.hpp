// SPDX-License-Identifier: BSD-3-Clause
// The interfaces of the snapshot: their indices, addresses, and the routes derived from those.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "control/routing/next_hops.hpp"
#include "control/transaction.hpp"

namespace turnpike::control {

/// Threads  control.
class interfaces : public config_handler {
  public:
    explicit interfaces(next_hops& nexthops) : nexthops_(nexthops) {}

    /// Needs port_index_of and snapshot.port[].state; fills ifindex_of, derived, snapshot.interfaces.
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c) override;

    /// Indices by name, of the running configuration.
    [[nodiscard]] const transaction::ifindexes& indexes() const noexcept { return ifindexes_; }
    [[nodiscard]] const std::string& name_of(uint16_t ifindex) const noexcept;

  private:
    class prepared_interfaces;

    next_hops& nexthops_;
    transaction::ifindexes ifindexes_;
    std::vector<const std::string*> names_;  ///< by index; null: unused
    /// by interface index, of routed interfaces
    std::map<uint16_t, std::shared_ptr<const nexthop_handle>> glean_;
    std::vector<std::unique_ptr<const datapath::interface_addresses>> addresses_;
    std::vector<std::shared_ptr<uint16_t[]>> vlan_maps_;  ///< storage for ports' by_vlan
};

}  // namespace turnpike::control
