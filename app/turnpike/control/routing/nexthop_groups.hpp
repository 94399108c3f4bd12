// SPDX-License-Identifier: BSD-3-Clause
// ECMP groups: their next hops and members; ecmp_buckets.hpp assigns the buckets.
//
// A recursive route also uses a group, of one or more members, and keeps its next hop index however
// its gateways resolve: a change of resolution is one store, regardless of the number of routes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "control/routing/ecmp_buckets.hpp"
#include "control/routing/next_hops.hpp"
#include "control/routing/resolved_routes.hpp"
#include "control/transaction.hpp"
#include "state/learned.hpp"

namespace turnpike::control {

/// Threads  control.
class nexthop_groups {
  public:
    nexthop_groups(next_hops& nexthops, rcu::qsbr& rcu) : nexthops_(nexthops), rcu_(rcu) {}
    /// A next hop for each route target: its only member's, a group's, or a fixed one.
    /// Needs resolved_routes::hops_of_members, and paths of recursive routes.
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c,
                                                                   routes_in_progress& r);

    /// Reassign buckets after changes of links and neighbours. Lost members are replaced at once; the buckets that
    /// members get back in one call are limited, so that many groups do not hold up control.
    /// Throws std::bad_alloc: the groups not yet updated stay as they were
    using classify = std::function<bool(const datapath::next_hop& of_member)>;
    void update_members(const classify& can_send);

    /// Make tables of the learned routes' new groups, which the next transaction uses: some of them in each call, since
    /// a table of 64 members takes a millisecond.
    /// Returns  whether all are made
    /// Throws std::bad_alloc
    [[nodiscard]] bool make_ahead(const state::learned& next);

    /// Whether hop_of() takes no time for a target: it is no group, or make_ahead() has made its table.
    [[nodiscard]] bool is_ready(const state::route_target& target) const;
    /// Whether there are tables of make_ahead().
    [[nodiscard]] bool has_ahead() const noexcept { return !ahead_.empty(); }
    /// The next hop of a learned target, without a transaction. Its group stays until a transaction finds no route by it.
    /// hops  of its members
    /// Returns  none: a transaction has to decide. Throws std::bad_alloc with nothing changed
    [[nodiscard]] std::optional<uint32_t> nexthop_of(const state::route_target& target,
                                                     const std::vector<uint32_t>& nexthops,
                                                     const state::configuration& running,
                                                     const classify& can_send);

    struct shown_member {
        uint32_t nexthop = 0;
        uint16_t weight = 1;
        bool able = true;
        uint32_t buckets = 0;
    };
    struct shown {
        uint32_t buckets = 0;
        uint16_t mtu = 0;  ///< 0: the interfaces'
        std::vector<shown_member> members{};
    };
    /// Empty: not a group's next hop.
    [[nodiscard]] shown of_nexthop(uint32_t nexthop) const;

    /// Number of tables published since the start, each by one store.
    [[nodiscard]] uint64_t stores() const noexcept { return stores_; }
    /// Number of scores computed since the start.
    [[nodiscard]] uint64_t scores() const noexcept { return work_.scores; }

  private:
    struct group {
        group(nexthop_groups& of_groups, nexthop_handle owned) noexcept
            : of(of_groups), handle(std::move(owned)), nexthop(handle.index()) {}
        group(const group&) = delete;
        group& operator=(const group&) = delete;
        ~group() {
            of.nexthops_.drop_if_pinned(nexthop);
            of.discard(std::move(full));
            of.discard(std::move(table));
        }
        nexthop_groups& of;
        nexthop_handle handle;
        const uint32_t nexthop;  ///< its index
        std::vector<group_member> members;
        std::vector<bool> able;
        datapath::nexthop_group::owned table;  ///< published table
        /// a former table with more usable members, and these: published again when they are back
        datapath::nexthop_group::owned full{};
        std::vector<bool> full_able{};
    };
    using members = std::vector<group_member>;
    /// Routes with an MTU use a separate group, also if they have one next hop.
    struct shared_by {
        uint16_t mtu = 0;  ///< 0: the interfaces'
        members of{};
        auto operator<=>(const shared_by&) const = default;
    };
    /// Recursive routes with the same gateways share a group.
    struct gateways {
        uint8_t vrf = 0;
        uint16_t mtu = 0;
        std::vector<state::route_member> of{};
        auto operator<=>(const gateways&) const = default;
    };
    class prepared_groups;

    [[nodiscard]] static shared_by key_of(const state::route_target& target,
                                          const std::vector<uint32_t>& nexthops,
                                          const state::ecmp& sharing);
    [[nodiscard]] std::vector<bool> able_of(const members& some, const classify& can_send) const;
    [[nodiscard]] std::shared_ptr<group> make(const members& of, uint16_t mtu,
                                              const classify& can_send);
    void publish(group& g, datapath::nexthop_group::owned next) noexcept;
    void discard(datapath::nexthop_group::owned table) noexcept;
    void update_members(group& g, const classify& can_send, uint32_t& buckets_left);
    void want_ahead(const state::learned& next);
    /// Only the fields that determine the buckets.
    [[nodiscard]] static members by_names(const members& some);
    [[nodiscard]] static members by_names(const state::route_target& target);
    [[nodiscard]] datapath::nexthop_group::owned first_table(const members& of,
                                                             const std::vector<bool>& able);
    static constexpr uint64_t scores_at_once = 4U << 20;  ///< some milliseconds

    next_hops& nexthops_;
    rcu::qsbr& rcu_;
    std::map<shared_by, std::shared_ptr<group>> groups_;
    std::map<gateways, std::shared_ptr<group>> recursive_;
    /// Tables that make_ahead() has made, by names and weights, with all members usable; and those still to be made.
    std::map<members, datapath::nexthop_group::owned> ahead_;
    std::vector<members> wanted_;
    uint64_t stores_ = 0;
    group_work work_{};
};

}  // namespace turnpike::control
