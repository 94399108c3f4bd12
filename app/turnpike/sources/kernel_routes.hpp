// SPDX-License-Identifier: BSD-3-Clause
// Routes as the kernel has them, and the notifications that change them.
//
//   prefix --> route_stack: all routes of the prefix, in the order of the kernel's lookup
//
// Most prefixes of a table have equal stacks (one route of a daemon via one of a few next hops), so stacks are stored
// once each, and a prefix takes one word (IPv4) or three. Changes of links and addresses, for which the kernel sends no
// notifications, change stacks in place: their cost does not depend on the number of prefixes.
//
// Source: Linux net/ipv4/fib_trie.c (fib_table_insert, fib_table_flush), net/ipv4/fib_semantics.c (fib_sync_down_dev,
// fib_sync_up), net/ipv6/ip6_fib.c (fib6_add_rt2node), net/ipv6/route.c (fib6_ifdown, ip6_route_multipath_add).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "netlink/message.hpp"
#include "state/route_table.hpp"

namespace turnpike::sources {

struct kernel_path {
    uint32_t interface = 0;
    std::optional<ip_address> via{};
    uint16_t weight = 1;
    bool onlink = false;
    bool dead = false;      ///< RTNH_F_DEAD: not used until its interface is up
    bool linkdown = false;  ///< RTNH_F_LINKDOWN: no carrier
    uint64_t encap = 0;     ///< digest of the encapsulation; 0: none

    auto operator<=>(const kernel_path&) const = default;
};

/// IPv4: with all paths. IPv6: each path of a multipath route is a separate route, a sibling.
struct kernel_route {
    ip_prefix from{};  ///< IPv6: source prefix; length 0: any
    uint8_t tos = 0;   ///< IPv4
    uint32_t metric = 0;
    uint8_t type = 0, protocol = 0, scope = 0;
    uint8_t preference = 0;  ///< RFC 4191: 0 medium, 1 high, 3 low
    uint32_t next_hop = 0;   ///< ID of a nexthop object; 0: paths
    std::optional<ip_address> source{};
    uint32_t mtu = 0;
    bool mtu_locked = false;
    bool expires = false;
    bool from_address =
        false;  ///< a connected network that turnpike derives from an address, or ignores
    uint64_t metrics = 0;  ///< digest
    std::vector<kernel_path> paths{};

    auto operator<=>(const kernel_route&) const = default;
};

/// Whether an IPv6 route forms a multipath route with others of its prefix and metric.
[[nodiscard]] bool is_sibling(const kernel_route& r) noexcept;

/// Whether it is a connected network, which the kernel, or a daemon in its place, adds beside an address.
[[nodiscard]] bool is_connected(const kernel_route& r) noexcept;

/// The routes of a prefix: sorted by source prefix, TOS and metric; equal ones in the kernel's order.
struct route_stack {
    bool v6 = false;
    bool is_default = false;  ///< prefix of length 0
    std::vector<kernel_route> routes{};

    auto operator<=>(const route_stack&) const = default;
};

/// Applies a notification, or a part of the reply to a dump (NLM_F_MULTI), to the routes of its prefix.
/// Returns  whether the kernel's routes are certain; if not, a new dump is necessary
[[nodiscard]] bool apply_to_stack(route_stack& to, const netlink::route& r);

/// Whether there is a route that is equal but for flags that change by themselves.
[[nodiscard]] bool has_equal(const route_stack& in, const netlink::route& r);

/// A change of an interface that affects routes.
/// ready  operational again: IPv6 routes wait for that (addrconf_notify)
struct interface_change {
    enum class kind : uint8_t {
        removed,
        down,
        up,
        ready,
        carrier_lost,
        carrier_found,
        last_ipv4_address,
        first_ipv4_address
    };
    uint32_t interface = 0;
    kind what = kind::down;
    bool carrier = true;
};
/// Whether a route has a path by an interface.
[[nodiscard]] bool has_interface(const route_stack& s, uint32_t interface) noexcept;
/// Applies the kernel's changes of routes with an interface. Returns whether any changed.
bool apply_interface_change(route_stack& to, const interface_change& c);

/// Threads  one at a time. Functions that change it may throw std::bad_alloc.
class kernel_table {
  public:
    using stack_id = uint32_t;
    static constexpr stack_id none = state::route_table::none;

    /// The stack of a prefix, or none.
    [[nodiscard]] stack_id at(const ip_prefix& to) const noexcept;
    [[nodiscard]] const route_stack& stack(stack_id s) const noexcept { return stacks_[s].now; }
    [[nodiscard]] uint32_t uses_of(stack_id s) const noexcept { return stacks_[s].uses; }
    /// Number of stacks, unused ones included.
    [[nodiscard]] stack_id stacks() const noexcept { return static_cast<stack_id>(stacks_.size()); }
    [[nodiscard]] size_t size() const noexcept { return prefixes_.size(); }
    /// The first prefix not before `to`.
    [[nodiscard]] state::route_table::cursor lower_bound(const ip_prefix& to) const noexcept {
        return prefixes_.lower_bound(to);
    }

    /// Replaces the routes of a prefix.
    void set(const ip_prefix& to, const route_stack& s);
    /// Changes all stacks for which `change` returns true. It gets a copy of the stacks that it concerns.
    void change_stacks(
        const std::function<bool(route_stack&)>& change,
        const std::function<bool(const route_stack&)>& concerns = [](const auto&) { return true; });
    /// Stacks with a route by a nexthop object.
    [[nodiscard]] const std::set<stack_id>* stacks_by(uint32_t next_hop) const;
    /// Changes the stacks with routes by a nexthop object likewise.
    void change_stacks_by(uint32_t next_hop, const std::function<bool(route_stack&)>& change);
    /// Stacks that were added or changed since the last call.
    [[nodiscard]] std::vector<stack_id> consume_changed() { return std::exchange(changed_, {}); }

  private:
    struct stored {
        route_stack now{};
        uint32_t uses = 0;
    };
    stack_id intern(const route_stack& s);
    void release(stack_id s);
    void index_next_hops(stack_id s, bool add);
    bool change(stack_id s, const std::function<bool(route_stack&)>& with);

    mutable state::route_table prefixes_{};
    std::vector<stored> stacks_{};
    std::map<route_stack, stack_id> ids_{};
    std::vector<stack_id> unused_{};
    std::unordered_map<uint32_t, std::set<stack_id>> by_next_hop_{};
    std::vector<stack_id> changed_{};
};

}  // namespace turnpike::sources
