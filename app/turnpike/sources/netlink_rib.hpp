// SPDX-License-Identifier: BSD-3-Clause
// Collects the learned objects from netlink messages of the kernel.
//
//   netlink::message --> netlink_rib --> state::learned
//
// The route with the lowest metric of a prefix in a table is active, as in the kernel; the mirror stores the
// others. The main table belongs to the main VRF, the table with a VRF's number to that VRF; other tables
// are ignored, and so are routes via interfaces that are not mirrored. Addresses on mirrored interfaces become local
// addresses; addresses on others (loopbacks, dummies) become routes of type local. Addresses with a lifetime, and
// routes from router advertisements and redirects, are ignored: any host on a link can cause them. Permanent neighbour
// entries become static neighbours; all other neighbour entries are ignored.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "netlink/message.hpp"
#include "state/learned.hpp"

namespace turnpike::sources {

/// Threads  one at a time.
class netlink_rib {
  public:
    using names = std::map<uint32_t, std::string>;  ///< by ifindex or table number

    /// Objects of the kernel to follow.
    struct followed {
        names interfaces{};  ///< mirrored interfaces
        names vrfs{};        ///< by table; the main table is always followed
        bool operator==(const followed&) const = default;
    };
    explicit netlink_rib(followed ours) : ours_(std::move(ours)) {}

    /// Changes the objects to follow, and forgets interfaces and VRFs that are removed.
    void set_ours(followed ours);
    /// May throw std::bad_alloc: the mirror must then be recreated.
    void take(const netlink::message& m);

    [[nodiscard]] const state::learned& learned() const noexcept { return learned_; }
    /// Whether the learned objects changed since the last call.
    [[nodiscard]] bool take_changed() noexcept { return std::exchange(changed_, false); }
    /// Whether a new dump is necessary: the kernel sends no notifications for routes that it removes with an
    /// address or a nexthop object.
    [[nodiscard]] bool is_doubtful() const noexcept { return doubtful_; }
    /// Number of routes in followed tables via interfaces that are not mirrored.
    [[nodiscard]] size_t others() const noexcept;

  private:
    struct table {
        /// All routes of prefixes with more than one.
        std::map<ip_prefix, std::vector<state::route_target>> several{};
        std::set<std::pair<ip_prefix, uint32_t>> elsewhere{};  ///< prefix and metric
        std::set<ip_prefix>
            appended{};  ///< IPv4: the kernel has a second route with the same metric
    };
    /// A table, and its learned routes.
    struct in_table {
        table& of;
        state::route_set& routes;
    };
    [[nodiscard]] in_table table_of(const std::string& vrf);

    void take_link(const netlink::link& l);
    void take_address(const netlink::address& a);
    void take_route(const netlink::route& r);
    void take_next_hop(const netlink::next_hop& h);
    void take_neighbour(const netlink::neighbour& n);

    [[nodiscard]] std::optional<state::route_target> target_of(const netlink::route& r) const;
    [[nodiscard]] const std::string* name_of(uint32_t interface) const noexcept;
    [[nodiscard]] std::optional<std::vector<netlink::hop>> paths_of(uint32_t id) const;
    [[nodiscard]] bool leads_by(const netlink::hop& path) const;
    [[nodiscard]] bool take_members(in_table in, const ip_prefix& to,
                                    const state::route_target& from,
                                    const state::route_target& gone);
    void put(in_table in, const ip_prefix& to, const state::route_target& t);
    void remove(in_table in, const ip_prefix& to, uint32_t metric);
    void show_best(in_table in, const ip_prefix& to);
    /// Removes routes of a family via an interface from all tables.
    void remove_by(const std::string& interface, bool v4_only);
    void remove_by(in_table in, const std::string& interface, bool v4_only);
    void show_addresses();
    void show_neighbours();

    followed ours_;
    state::learned learned_{};
    std::map<std::string, table> tables_{};                ///< by VRF, unfiltered
    std::map<uint32_t, std::set<ip_prefix>> addresses_{};  ///< by ifindex
    std::map<uint32_t, std::map<ip_address, mac_address>>
        neighbours_{};  ///< by ifindex: permanent entries
    std::map<uint32_t, netlink::next_hop> next_hops_{};
    bool changed_ = false, doubtful_ = false;
};

/// The name of an rtnetlink protocol number, "bgp", "ospf", ..., or the number if it has none.
[[nodiscard]] std::string protocol_name(uint8_t protocol);

}  // namespace turnpike::sources
