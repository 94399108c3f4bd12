// SPDX-License-Identifier: BSD-3-Clause
// The kernel's routing state, from its netlink messages, and the learned objects that follow from it.
//
//   netlink::message --> kernel_table, links, addresses, next-hop objects --> derive() --> state::learned
//                        (kernel_routes.hpp)                       (route_derivation.hpp)
//
// The RIB stores the routes of followed tables as the kernel has them. The main table belongs to the main VRF, the table
// with a VRF's number to that VRF; other tables are ignored. Changes for which the kernel sends no notification (routes
// and next-hop objects that go with a link, an address or a next-hop object) are applied as the kernel applies them.
//
// Addresses on mirrored interfaces become local addresses; addresses on others (loopbacks, dummies) and local routes
// that an operator added become routes of type local. Addresses with a lifetime, and routes from router advertisements
// and redirects, are not followed: any host on a link can cause them. Permanent neighbour entries become static
// neighbours; all other neighbour entries are ignored.
//
// A dump is marked and swept in place: its replies are compared with the RIB, and only differences change it. doc/design/0024-the-kernels-rib.md
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "netlink/message.hpp"
#include "sources/route_derivation.hpp"
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
        std::set<uint32_t>
            accept_ra{};  ///< mirrored interfaces whose router advertisements are followed
        bool operator==(const followed&) const = default;
    };
    explicit netlink_rib(followed ours);

    /// Changes the objects to follow, and forgets the tables of VRFs that are removed.
    void set_ours(followed ours);
    /// May throw std::bad_alloc: the RIB must then be recreated.
    void apply(const netlink::message& m);
    /// Updates the learned objects that depend on changed links, addresses and next-hop objects, as long as `may_go_on`
    /// returns true. Call it after a batch of messages: it may scan the tables.
    /// Returns  whether all are updated
    bool settle(const std::function<bool()>& may_go_on);
    void settle();

    /// Number of changes of links, addresses and next-hop objects after whose messages the kernel changes routes, and
    /// notifies of none of them: until it has, a dump lists the routes as they were before.
    [[nodiscard]] uint64_t silent_changes() const noexcept { return silent_changes_; }
    /// As of the last settle().
    [[nodiscard]] const state::learned& learned() const noexcept { return learned_; }
    /// Whether the learned objects changed since the last call.
    [[nodiscard]] bool consume_changed() noexcept { return std::exchange(changed_, false); }
    /// Whether a notification was ambiguous.
    [[nodiscard]] bool is_doubtful() const noexcept { return !doubtful_.empty(); }
    /// Tables whose IPv6 routes are to be dumped again, because a notification was ambiguous.
    [[nodiscard]] std::set<uint32_t> consume_doubtful() { return std::exchange(doubtful_, {}); }

    /// Objects that one dump lists. Objects that it does not list, and that are not notified meanwhile, are gone.
    struct dump_part {
        enum class kind : uint8_t { links, addresses, neighbours, next_hops, routes };
        kind what = kind::links;
        bool v6 = false;  ///< neighbours, routes
        uint32_t of = 0;  ///< routes: the table; addresses, neighbours: an interface, or 0 for all
        bool operator==(const dump_part&) const = default;
    };
    /// Call it when the part is requested, and no notification before that was lost.
    void begin_part(const dump_part& p);
    /// The reply is complete, or not: it then removes nothing.
    /// Returns  false: the reply may lack routes. The part is to be dumped again; both replies count together
    [[nodiscard]] bool end_part(bool complete);
    static constexpr unsigned max_replies = 3;  ///< to a part, beside steady changes
    /// Continues to apply the differences that the dump has shown, as long as `may_go_on` returns true.
    /// Returns  whether all are applied
    bool sweep(const std::function<bool()>& may_go_on);

    using reason_counts = std::array<size_t, not_followed_names.size()>;
    /// Number of prefixes whose route is not followed, by reason.
    [[nodiscard]] reason_counts count_not_followed() const;
    /// The sum of these.
    [[nodiscard]] size_t others() const;

    struct not_followed_route {
        uint32_t table = 0;
        std::string vrf{};  ///< empty: main
        ip_prefix to{};
        not_followed why = not_followed::none;
        uint8_t protocol = 0;
        uint32_t metric = 0;
    };
    /// Prefixes whose routes are not followed, from one of a table on, the first `most`.
    [[nodiscard]] std::vector<not_followed_route> list_not_followed(
        size_t most, uint32_t from_table = 0, const ip_prefix& from = {}) const;

  private:
    struct derivation {
        derived_route route{};
        uint32_t index = 0;  ///< of the target in the learned set, as last seen
    };
    struct table {
        kernel_table kernel{};
        std::vector<derivation> derived{};         ///< by stack
        std::set<kernel_table::stack_id> stale{};  ///< their prefixes show an earlier derivation
        std::vector<bool> showing{};  ///< by stack: was stale when the scan began; empty: no scan
        ip_prefix next{};             ///< of the scan
    };
    /// Local routes of a prefix differ in metric, TOS, interface or protocol.
    struct local_route {
        ip_prefix to{};
        uint32_t metric = 0, interface = 0;
        uint8_t tos = 0, protocol = 0;
        auto operator<=>(const local_route&) const = default;
    };
    using local_and_peer = std::pair<ip_prefix, std::optional<ip_address>>;
    struct link_state {
        bool up = false, carrier = false, running = false;
        uint32_t master = 0, vrf_table = 0;
    };

    /// A link or nexthop object by its number, an address or neighbour by its interface, a route by its table.
    using object = std::tuple<uint32_t, ip_prefix, std::optional<ip_address>>;
    /// Objects that a dump has listed, and notifications since it was requested.
    struct listed {
        dump_part part{};
        std::set<object> notified{};  ///< since the last part of the reply
        bool in_reply = false;        ///< the last message was listed
        std::set<object> objects{};   ///< except routes
        std::set<local_route> local_routes{};
        kernel_table routes{};
        std::optional<ip_prefix> last{};       ///< of the routes that the reply has listed
        route_stack of_last{};                 ///< the routes of that prefix in the reply
        std::set<ip_prefix> skipped{};         ///< by this reply: notifications decided
        bool direct = false;                   ///< the table was empty: routes are taken at once
        bool may_lack = false;                 ///< this reply, routes
        unsigned replies = 0;                  ///< that may lack routes
        bool is_complete = false;              ///< the sweep has begun
        ip_prefix next{};                      ///< of the sweep of routes
        std::vector<netlink::message> gone{};  ///< still to be taken
    };

    /// Whether a route's notification follows from a nexthop object's.
    [[nodiscard]] bool is_update(const netlink::message& m) const;
    [[nodiscard]] bool is_only_linkdown(const netlink::message& m, const netlink::nexthop& h) const;
    [[nodiscard]] bool has_only_linkdown(const netlink::message& m) const;
    [[nodiscard]] std::optional<object> object_of(const netlink::message& m) const;
    /// Returns  whether the message is taken
    bool mark(const netlink::message& m);
    bool mark_route(const netlink::route& r);
    void note_listed_twice(const netlink::route& r);
    static constexpr size_t prefixes_at_once = 128;  ///< between looks at the time
    void find_gone();
    bool sweep_routes(const std::function<bool()>& may_go_on);
    void change_listed(const std::function<bool(route_stack&)>& with);
    void apply_link(const netlink::link& l);
    void apply_address(const netlink::address& a);
    void apply_followed_address(const netlink::address& a);
    static bool is_stored(const netlink::route& r) noexcept;
    static bool is_local(const netlink::route& r) noexcept;
    void apply_route(const netlink::route& r);
    void apply_local_route(const netlink::route& r);
    void apply_next_hop(const netlink::next_hop& h);
    void apply_neighbour(const netlink::neighbour& n);

    [[nodiscard]] const std::string* name_of(uint32_t interface) const noexcept;
    [[nodiscard]] table* table_of(uint32_t number);
    /// The table with the connected networks of an interface: of its VRF device, or main.
    [[nodiscard]] uint32_t fib_table_of(uint32_t interface) const noexcept;
    [[nodiscard]] state::route_set& learned_of(uint32_t number);
    void change_interface(const interface_change& c);
    void remove_next_hops_by(uint32_t interface);
    void remove_next_hop(uint32_t id);
    void derive_routes_by(uint32_t next_hop);
    [[nodiscard]] static ip_prefix network_of(const local_and_peer& a);
    [[nodiscard]] bool is_in_local_route(uint32_t number, const netlink::address& a) const;
    void add_local(uint32_t number, const ip_prefix& to, int count);
    void add_locals_of(uint32_t interface, uint32_t number, int count);
    void move_locals(uint32_t interface, const std::function<void()>& change);
    [[nodiscard]] static local_route local_route_of(const netlink::route& r);
    void remove_local_routes(const std::function<bool(const local_route&)>& goes);
    void remove_local_routes_of(uint32_t interface);
    bool derive_stack(table& t, kernel_table::stack_id s);
    void derive_changed(table& t);
    void store(uint32_t number, table& t, const ip_prefix& to, route_stack s);
    [[nodiscard]] bool is_from_address(const ip_prefix& to, uint32_t interface) const;
    void store_again(const ip_prefix& network);
    void store_networks_of(uint32_t interface);
    void store_ipv6_networks();
    void show(uint32_t number, const ip_prefix& to);
    static bool begin_showing(table& t);
    bool show_stale(uint32_t number, table& t, const std::function<bool()>& may_go_on);
    void show_addresses();
    void show_neighbours();

    followed ours_;
    state::learned learned_{};
    std::map<uint32_t, table> tables_{};  ///< followed ones, by number
    std::map<uint32_t, link_state> links_{};
    struct stored_address {
        bool network = false;    ///< turnpike derives it
        bool permanent = false;  ///< else followed where advertisements are
        bool no_dad = false;
        bool operator==(const stored_address&) const = default;
    };
    std::map<uint32_t, std::map<local_and_peer, stored_address>> addresses_{};  ///< by ifindex
    std::map<uint32_t, std::set<local_and_peer>> ipv4_addresses_{};
    /// By table and prefix, beside mirrored interfaces' addresses, counted.
    std::map<std::pair<uint32_t, ip_prefix>, int> locals_{};
    std::set<local_route> local_routes_{};  ///< of the local table, which the kernel did not add
    std::map<uint32_t, std::map<ip_address, mac_address>>
        neighbours_{};  ///< by ifindex: permanent entries
    nexthop_objects next_hops_{};
    std::pair<uint32_t, uint32_t> next_hop_request_{};  ///< the last: requester, sequence
    std::unordered_map<uint32_t, std::set<uint32_t>> groups_of_{};  ///< by member
    std::optional<listed> listed_{};                                ///< during a dump
    std::set<uint32_t> doubtful_{};                                 ///< tables
    std::set<std::pair<uint32_t, ip_prefix>> listed_twice_{};  ///< by table: note_listed_twice()
    bool are_addresses_stale_ = false;                         ///< learned_'s
    bool changed_ = false;
    uint64_t silent_changes_ = 0;
};

/// The name of an rtnetlink protocol number, "bgp", "ospf", ..., or the number if it has none.
[[nodiscard]] std::string protocol_name(uint8_t protocol);

}  // namespace turnpike::sources
