// SPDX-License-Identifier: BSD-3-Clause
// What the kernel said, message by message, as what is to be learned of it. A source: it only yields.
//
//   netlink::message --> kernel_mirror --> state::learned
//
// Of a table's routes of a prefix the one of the lowest metric counts, as in the kernel; the others wait here. The
// main table's are the main routes, that of a VRF's number that VRF's, and all other tables the kernel's own. Routes by interfaces that are none of ours are the kernel's own business. Addresses on our interfaces
// become ours; those on others (loopbacks, dummies) become routes to the box itself. Addresses with a lifetime, and
// routes of router advertisements and redirects, are the kernel's own: any host of a link can cause them. Neighbours that somebody told the
// kernel for good (permanent) become static ones; all others are the kernel's own.
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
class kernel_mirror {
  public:
    using names = std::map<uint32_t, std::string>;  ///< by the kernel's number

    /// What is ours of what the kernel has.
    struct followed {
        names interfaces{};  ///< that packets of turnpike's come and go by
        names vrfs{};        ///< by table; the main one, which is always followed, is none
        bool operator==(const followed&) const = default;
    };
    explicit kernel_mirror(followed ours) : ours_(std::move(ours)) {}

    /// Others. What is known of interfaces and VRFs that are gone is forgotten.
    void set_ours(followed ours);
    /// May throw std::bad_alloc: then it is to be made anew.
    void take(const netlink::message& m);

    [[nodiscard]] const state::learned& learned() const noexcept { return learned_; }
    /// Something has changed since the last time that this was asked.
    [[nodiscard]] bool take_changed() noexcept { return std::exchange(changed_, false); }
    /// What the kernel did not tell, and is to be asked for: it says nothing of the routes that go with an
    /// address or a next-hop object.
    [[nodiscard]] bool is_doubtful() const noexcept { return doubtful_; }
    /// Routes of our tables that are not followed: they are by interfaces that are not ours.
    [[nodiscard]] size_t others() const noexcept;

  private:
    struct table {
        /// Of prefixes with more than one route: all of them.
        std::map<ip_prefix, std::vector<state::route_target>> several{};
        std::set<std::pair<ip_prefix, uint32_t>> elsewhere{};  ///< with their metrics
        std::set<ip_prefix>
            appended{};  ///< of IPv4: a second route of the same metric waits in the kernel
    };
    /// A table, and what is learned of it.
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
    [[nodiscard]] std::optional<std::vector<netlink::hop>> ways_of(uint32_t id) const;
    [[nodiscard]] bool leads_by(const netlink::hop& way) const;
    [[nodiscard]] bool take_members(in_table in, const ip_prefix& to,
                                    const state::route_target& from,
                                    const state::route_target& gone);
    void put(in_table in, const ip_prefix& to, const state::route_target& t);
    void remove(in_table in, const ip_prefix& to, uint32_t metric);
    void show_best(in_table in, const ip_prefix& to);
    /// Routes of a family by an interface, of all tables.
    void remove_by(const std::string& interface, bool v4_only);
    void remove_by(in_table in, const std::string& interface, bool v4_only);
    void show_addresses();
    void show_neighbours();

    followed ours_;
    state::learned learned_{};
    std::map<std::string, table> tables_{};  ///< by VRF, as they come
    std::map<uint32_t, std::set<ip_prefix>>
        addresses_{};  ///< by the kernel's number of the interface
    std::map<uint32_t, std::map<ip_address, mac_address>> neighbours_{};  ///< likewise: permanent
    std::map<uint32_t, netlink::next_hop> next_hops_{};
    bool changed_ = false, doubtful_ = false;
};

/// "bgp", "ospf", ... of the kernel's number of who made a route; of one without a name the number.
[[nodiscard]] std::string protocol_name(uint8_t protocol);

}  // namespace turnpike::sources
