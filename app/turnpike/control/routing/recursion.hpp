// SPDX-License-Identifier: BSD-3-Clause
// Resolution of recursive routes: the longest prefix of the VRF that contains the gateway gives its next hops, from
// any source (connected, operator, kernel). That route may be recursive, too. doc/design/0021-recursive-routes.md
//
//   10.9.0.0/16 via 192.0.2.1 recursive --+
//   10.8.0.0/16 via 192.0.2.1 recursive --+--> gateway 192.0.2.1 --> 192.0.2.0/24 --> next hops: two neighbours
//   (a thousand more)                   --+    one index for all      by the longest prefix
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "control/routing/next_hops.hpp"
#include "control/routing/resolved_routes.hpp"
#include "control/transaction.hpp"

namespace turnpike::control {

/// Why a gateway is not resolved.
enum class unresolved : uint8_t {
    none,
    no_route,
    only_default,
    ours,
    broadcast,
    beyond,  ///< a gateway of the recursive route to it is not resolved
    too_deep,
};
/// Text for operators.
[[nodiscard]] std::string_view text_of(unresolved why) noexcept;

/// Maximum depth of recursion. A longer path is a configuration error or a loop.
inline constexpr unsigned max_recursions = 8;

/// One of a gateway's next hops.
struct recursive_path {
    /// A neighbour on a link; its weight is unused. With `drops`: `via` is the gateway.
    state::route_member to{};
    /// index of a fixed next hop of kind drop (datapath/next_hop.hpp)
    std::optional<uint32_t> drops{};
    double part = 1;  ///< share of the gateway's packets
};

/// The route by the longest prefix that contains a gateway.
struct longest_match {
    ip_prefix to{};
    unresolved why = unresolved::none;  ///< if set, the other fields are empty
    std::vector<recursive_path> paths{};
    /// recursive: the target whose gateways give the next hops
    const state::route_target* next = nullptr;
};

struct resolved_gateway {
    std::optional<ip_prefix> through{};  ///< longest prefix that contains it
    unresolved why = unresolved::none;
    std::vector<recursive_path> paths{};  ///< empty if `why` is set
};
using resolved_gateways = std::map<ip_address, resolved_gateway>;

/// matches  of all gateways, including those of `next`
/// A gateway is resolved if each path from it has at most max_recursions recursive routes; so a
/// gateway in a loop, or leading into one, is unresolved. If a route has several gateways, the
/// resolved ones are used. Throws std::bad_alloc
[[nodiscard]] resolved_gateways resolve(const std::map<ip_address, longest_match>& matches);

/// The next hops of a target: its gateways' next hops, by their weights, without duplicates, in a
/// fixed order, at most state::max_route_members; dropping ones only if all drop. Shares are
/// scaled to integers up to 65,535. Empty: no gateway is resolved.
[[nodiscard]] std::vector<recursive_path> paths_of(const state::route_target& target,
                                                   const resolved_gateways& gateways);

/// Threads  control.
class recursion {
  public:
    explicit recursion(const next_hops& nexthops) : nexthops_(nexthops) {}

    /// Needs the derived routes; fills resolved_routes::paths.
    /// Throws std::bad_alloc
    [[nodiscard]] std::unique_ptr<prepared_change> prepare(const transaction& c,
                                                           routes_in_progress& r);

    /// Whether a gateway may resolve by another route after a change of routes.
    [[nodiscard]] bool depends_on(uint8_t vrf, const state::route_changes& what) const;

    /// Resolution in the running configuration; null: no recursive route of the VRF has that gateway.
    [[nodiscard]] const resolved_gateway* find(uint8_t vrf, const ip_address& gateway) const;

  private:
    class prepared_recursion;

    const next_hops& nexthops_;
    std::map<uint8_t, resolved_gateways> by_vrf_{};
};

}  // namespace turnpike::control
