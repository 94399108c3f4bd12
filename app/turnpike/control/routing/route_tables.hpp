// SPDX-License-Identifier: BSD-3-Clause
// Class `vrfs` assigns the indices in the snapshot before interfaces are prepared; class `route_tables` has the tables with
// the routes of each VRF, the last step of routing.hpp.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "control/routing/routes.hpp"
#include "control/transaction.hpp"

namespace turnpike::control {

/// Threads  control.
class vrfs : public config_handler {
  public:
    /// A VRF keeps its index while it exists; the main one, "", has 0.
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c) override;

    [[nodiscard]] const std::map<std::string, uint8_t, std::less<>>& indexes() const noexcept {
        return indexes_;
    }
    [[nodiscard]] const std::string& name_of(uint8_t index) const noexcept;

  private:
    class prepared_vrfs;
    std::map<std::string, uint8_t, std::less<>> indexes_{};
};

/// Threads  control; workers look up in the FIBs meanwhile.
class route_tables {
  public:
    /// Creates the main table. Errors  ENOMEM
    [[nodiscard]] static result<std::unique_ptr<route_tables>> create(rcu::qsbr& rcu,
                                                                      next_hops& nexthops);

    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c,
                                                                   routes_in_progress& r);

    /// Host routes of neighbours; no effect for a removed VRF.
    [[nodiscard]] result<void> set_host(uint8_t vrf, const ip_address& a, uint32_t nexthop,
                                        uint32_t link_nexthop);
    [[nodiscard]] result<void> clear_host(uint8_t vrf, const ip_address& a, uint32_t nexthop);
    /// Next hop of a destination, as in the workers' lookup.
    [[nodiscard]] uint32_t lookup(uint8_t vrf, const ip_address& destination) const noexcept;

    /// routes::is_on_link() in a VRF.
    [[nodiscard]] bool is_on_link(uint8_t vrf, const ip_address& a,
                                  uint32_t link_nexthop) const noexcept {
        return tables_[vrf] != nullptr && tables_[vrf]->is_on_link(a, link_nexthop);
    }

    /// Whether a VRF exists, and these are the connected networks, local addresses and static neighbours in force.
    [[nodiscard]] bool has_derived(const vrf_routes& t) const {
        return tables_[t.vrf] != nullptr && tables_[t.vrf]->has_derived(t.derived);
    }
    /// Requires  the VRF exists
    [[nodiscard]] routes& of(uint8_t vrf) const noexcept { return *tables_[vrf]; }
    /// The main table.
    [[nodiscard]] routes& main() const noexcept { return *tables_[0]; }
    [[nodiscard]] bool incomplete() const noexcept;
    /// As of routes, in all VRFs.
    [[nodiscard]] size_t left_out() const noexcept;
    [[nodiscard]] bool has_room() const noexcept;
    /// Number of routes in all VRFs, IPv4 and IPv6.
    [[nodiscard]] std::pair<uint64_t, uint64_t> count() const noexcept;

  private:
    class prepared_tables;
    route_tables(rcu::qsbr& rcu, next_hops& nexthops) : rcu_(rcu), nexthops_(nexthops) {}

    rcu::qsbr& rcu_;
    next_hops& nexthops_;
    std::array<std::shared_ptr<routes>, datapath::max_vrfs> tables_{};  ///< null: unused index
};

}  // namespace turnpike::control
