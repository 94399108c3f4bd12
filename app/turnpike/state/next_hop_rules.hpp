// SPDX-License-Identifier: BSD-3-Clause
// Rules of next hops, for all sources of routes.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "state/configuration.hpp"

namespace turnpike::state {

/// Whether two interfaces of a VRF may have these addresses. Not if one's network contains the other's address: a neighbour could be
/// on either link. An unnumbered interface may borrow the other's address (RFC 1812 section 2.2.7).
[[nodiscard]] bool may_both_be(const ip_prefix& a, const ip_prefix& b) noexcept;

/// RFC 3021: a /31 has neither a network nor a broadcast address.
[[nodiscard]] bool is_network_or_broadcast(const ip_prefix& p) noexcept;

/// Finds the interface of a neighbour: the named one, or the one with the neighbour's network.
/// Caches results, because a million routes have few distinct neighbours.
class neighbour_finder {
  public:
    /// vrf  VRF of neighbours without a named interface
    explicit neighbour_finder(const configuration& in, std::string vrf = {})
        : in_(in), vrf_(std::move(vrf)) {}

    /// named   an interface, or empty
    /// onlink  on the link of the named interface, regardless of its networks
    /// Errors  EINVAL with a sentence that begins behind the address' name, no object
    [[nodiscard]] result<std::string> interface_of(const ip_address& neighbour,
                                                   std::string_view named, bool onlink = false);

    /// Checks an on-link route: the interface must be in the VRF of the route, because the host routes of
    /// its neighbours are.
    /// Errors  EINVAL with a sentence that begins behind the interface's name, no object
    [[nodiscard]] result<void> check_link(std::string_view named) const;

  private:
    [[nodiscard]] result<std::string> find(const ip_address& neighbour, std::string_view named,
                                           bool onlink) const;

    const configuration& in_;
    const std::string vrf_;
    std::map<std::pair<ip_address, std::string>, std::string, std::less<>> found_;
};

/// Checks the gateway of a recursive route: a host address that is not link-local.
/// Errors  EINVAL with a sentence that begins behind the address' name, no object
[[nodiscard]] result<void> check_recursive(const ip_address& via);

/// Sorts the next hops of a route into canonical order; a single one gets weight 1.
/// Errors  EINVAL with a sentence, no object: none, too many, or one twice
[[nodiscard]] result<void> arrange_members(std::vector<route_member>& members);

/// Every link of a family carries packets of so many bytes (RFC 791 section 3.2, RFC 8200 section 5).
[[nodiscard]] constexpr uint16_t min_mtu(bool v6) noexcept { return v6 ? 1280 : 68; }

/// Checks the MTU of a route; 0: none.
/// Errors  EINVAL with a sentence that begins behind the word mtu, no object
[[nodiscard]] result<void> check_mtu(uint16_t mtu, const ip_prefix& to);

/// IPv4 routes may have IPv6 next hops (RFC 8950), IPv6 routes no IPv4 ones.
/// Errors  EINVAL with a sentence that begins behind the address' name, no object
[[nodiscard]] result<void> check_family(const ip_address& via, const ip_prefix& to);

/// Errors  EINVAL with a sentence, no object: the prefix cannot be routed
[[nodiscard]] result<void> check_routed_prefix(const ip_prefix& to);

}  // namespace turnpike::state
