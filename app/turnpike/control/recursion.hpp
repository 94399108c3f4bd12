// SPDX-License-Identifier: BSD-3-Clause
// Where gateways of recursive routes are: by the longest prefix of their VRF that holds them, whoever says it (a
// connected network, the operator, the kernel). That may be a recursive route itself. doc/design/0021-recursive-routes.md
//
//   10.9.0.0/16 via 192.0.2.1 recursive --+
//   10.8.0.0/16 via 192.0.2.1 recursive --+--> gateway 192.0.2.1 --> 192.0.2.0/24 --> its ways: two neighbours
//   (a thousand more)                   --+    one hop for all         of the longest prefix
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "control/change.hpp"
#include "control/next_hops.hpp"

namespace turnpike::control {

/// Why a gateway leads nowhere.
enum class unresolved : uint8_t {
    none,
    no_route,
    only_default,
    ours,
    broadcast,
    beyond,  ///< a gateway of the recursive route that leads there
    too_deep,
};
/// For operators.
[[nodiscard]] std::string_view text_of(unresolved why) noexcept;

/// Recursive routes that one may go through. No path is longer that is not a mistake, or a circle.
inline constexpr unsigned most_recursions = 8;

/// One of the ways that a gateway's packets go.
struct recursive_way {
    /// A neighbour on a link; its weight is not said here. Of one that drops: `via` is the gateway.
    state::route_member to{};
    std::optional<uint32_t> drops{};  ///< a fixed hop (datapath/next_hop.hpp)
    double part = 1;                  ///< of the gateway's packets
};

/// What the longest prefix says that holds a gateway.
struct longest_match {
    ip_prefix to{};
    unresolved why = unresolved::none;  ///< not none: neither of the others
    std::vector<recursive_way> ways{};
    const state::route_target* next = nullptr;  ///< recursive: its gateways say it
};

struct resolved_gateway {
    std::optional<ip_prefix> through{};  ///< the longest prefix that holds it
    unresolved why = unresolved::none;
    std::vector<recursive_way> ways{};  ///< empty where `why` is not none
};
using resolved_gateways = std::map<ip_address, resolved_gateway>;

/// matches  of all gateways, with those that `next` names
/// A gateway is resolved where no path from it has more than most_recursions recursive routes: so none that is part
/// of a circle is, nor one that leads into it. Where a route's gateways are several, those that are resolved count.
/// Throws std::bad_alloc
[[nodiscard]] resolved_gateways resolve(const std::map<ip_address, longest_match>& matches);

/// What a target's packets do: the ways of its gateways by their weights, each once, in one order, of which the first
/// state::most_route_members count; those that drop only where all do. The parts are whole numbers, 65,535 the most.
/// Empty: no gateway is resolved.
[[nodiscard]] std::vector<recursive_way> ways_of(const state::route_target& target,
                                                 const resolved_gateways& gateways);

/// Threads  control.
class recursion : public owner {
  public:
    explicit recursion(const next_hops& hops) : hops_(hops) {}

    /// Needs the tables with their derived routes; gives change::leading::ways.
    [[nodiscard]] result<std::unique_ptr<staged>> prepare(change& c) override;

    /// Of what runs; null: no recursive route of the VRF has that gateway.
    [[nodiscard]] const resolved_gateway* find(uint8_t vrf, const ip_address& gateway) const;

  private:
    class staged_recursion;

    const next_hops& hops_;
    std::map<uint8_t, resolved_gateways> by_vrf_{};
};

}  // namespace turnpike::control
