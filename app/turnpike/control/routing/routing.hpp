// SPDX-License-Identifier: BSD-3-Clause
// The owner of routing: a pipeline from the sets of routes to the FIBs of all VRFs. The next hops of a route are
// resolved step by step (resolved_routes.hpp), and no other owner sees the steps.
//
//   routes of the operator  --> recursion --> neighbours --> nexthop_groups --> route_tables --> lib/fib
//   routes of the kernel    ----------------/  (gateways)
//   derived routes (transaction.hpp) --------------------------------------------/
//
// Routes of the kernel with known next hops pass beside transactions: learn() writes the FIBs only.
#pragma once

#include <memory>

#include "control/neighbours/neighbours.hpp"
#include "control/routing/nexthop_groups.hpp"
#include "control/routing/recursion.hpp"
#include "control/routing/route_tables.hpp"
#include "control/transaction.hpp"

namespace turnpike::control {

/// Threads  control, and management during a loan.
class routing : public config_handler {
  public:
    /// max_held  maximum of packets that wait for neighbours
    /// Errors  ENOMEM
    [[nodiscard]] static result<std::unique_ptr<routing>> create(next_hops& nexthops,
                                                                 rcu::qsbr& rcu, uint32_t max_held,
                                                                 neighbour_callbacks callbacks);

    /// Needs the derived routes and the interfaces of the other owners; the last one.
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c) override;

    /// The running configuration, as learn() needs it.
    struct in_force {
        const state::configuration& config;
        const transaction::ifindexes& ifindexes;
        nexthop_groups::classify can_send;
    };
    /// Replaces the kernel's routes without a transaction, where no object but the FIB depends on them.
    /// followed  the routes in force, of `before`; on success, they are those of `next`
    /// changed  set to the number of changed routes, at least of those up to the first that need a transaction
    /// Returns  whether all routes are replaced; else a transaction is necessary
    [[nodiscard]] bool learn(const in_force& running, state::followed& followed,
                             const state::learned& before, const state::learned& next,
                             size_t& changed) noexcept;
    /// Makes the tables of new groups before their routes, some of them in each call.
    /// Returns  whether all are made, or memory is short: a transaction then reports it
    [[nodiscard]] bool make_groups_ahead(const state::learned& next) noexcept;

    /// Objects of the kernel that found no room.
    [[nodiscard]] const left_out& no_room() const noexcept { return no_room_; }
    /// Whether some of these may find room now.
    [[nodiscard]] bool has_room() noexcept;

    /// A separate owner: interfaces need the indices.
    [[nodiscard]] control::vrfs& vrfs() noexcept { return vrfs_; }
    [[nodiscard]] const control::vrfs& vrfs() const noexcept { return vrfs_; }
    [[nodiscard]] route_tables& tables() noexcept { return *tables_; }
    [[nodiscard]] const route_tables& tables() const noexcept { return *tables_; }
    /// Routes of the main VRF.
    [[nodiscard]] control::routes& routes() noexcept { return tables_->main(); }
    [[nodiscard]] control::neighbours& neighbours() noexcept { return *neighbours_; }
    [[nodiscard]] nexthop_groups& groups() noexcept { return groups_; }
    [[nodiscard]] const nexthop_groups& groups() const noexcept { return groups_; }
    [[nodiscard]] const recursion& recursive() const noexcept { return recursion_; }

  private:
    class prepared_routing;
    routing(next_hops& nexthops, rcu::qsbr& rcu)
        : nexthops_(nexthops), recursion_(nexthops), groups_(nexthops, rcu) {}
    [[nodiscard]] std::optional<uint32_t> make_nexthop(const in_force& running,
                                                       const state::route_target& target);

    next_hops& nexthops_;
    control::vrfs vrfs_{};
    std::unique_ptr<route_tables> tables_{};
    std::unique_ptr<control::neighbours> neighbours_{};
    recursion recursion_;
    nexthop_groups groups_;
    left_out no_room_{};
    uint32_t nexthops_when_left_out_ = 0;  ///< next hops in use then
};

}  // namespace turnpike::control
