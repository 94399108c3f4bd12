// SPDX-License-Identifier: BSD-3-Clause
// The route of a prefix that counts, from all that the kernel has: a pure function.
//
// Source: Linux net/ipv4/fib_trie.c (fib_table_lookup), net/ipv6/route.c (find_rr_leaf, rt6_score_route),
// net/ipv4/nexthop.c.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "netlink/message.hpp"
#include "sources/kernel_routes.hpp"
#include "state/routes.hpp"

namespace turnpike::sources {

/// Reasons why turnpike cannot forward by a route.
/// interface  via interfaces that are not mirrored
/// paths      several paths without a gateway
/// type       broadcast, multicast or anycast
enum class not_followed : uint8_t {
    none,
    interface,
    encapsulation,
    source_prefix,
    tos,
    fdb,
    paths,
    type
};
inline constexpr std::array<std::string_view, 8> not_followed_names = {
    "none", "interface", "encapsulation", "source_prefix", "tos", "fdb", "paths", "type"};

using nexthop_objects = std::unordered_map<uint32_t, netlink::next_hop>;

struct derivation_context {
    const nexthop_objects& objects;
    const std::map<uint32_t, std::string>& interfaces;  ///< mirrored ones, by index
    const std::set<uint32_t>&
        accept_ra;  ///< mirrored interfaces whose router advertisements are followed
};

struct derived_route {
    /// Nullopt: the prefix has no route for turnpike, and a shorter prefix counts.
    std::optional<state::route_target> target{};
    not_followed why = not_followed::none;  ///< the target's type is then not_followed, too
};
[[nodiscard]] derived_route derive(const route_stack& from, const derivation_context& with);

/// Scales weights to at most state::max_member_weight, in the same ratio as nearly as possible; none becomes 0.
void scale_weights(std::vector<state::route_member>& members, const std::vector<uint32_t>& weights);

}  // namespace turnpike::sources
