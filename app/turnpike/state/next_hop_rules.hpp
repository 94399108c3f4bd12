// SPDX-License-Identifier: BSD-3-Clause
// What a route may lead to, whichever source it comes from.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "state/desired.hpp"

namespace turnpike::state {

/// May two interfaces of a VRF have these? Not where one's network holds the other's address: neighbours would be
/// behind either. But one that has no network of its own borrows the other's address (RFC 1812 section 2.2.7).
[[nodiscard]] bool may_both_be(const ip_prefix& a, const ip_prefix& b) noexcept;

/// RFC 3021: a /31 has neither a network nor a broadcast address.
[[nodiscard]] bool is_network_or_broadcast(const ip_prefix& p) noexcept;

/// Finds the interface that a neighbour is behind: the one named, or the one on whose network it is.
/// Remembers what it found, because a million routes name few neighbours.
class neighbour_finder {
  public:
    /// vrf  in which neighbours are whose interface is not named; that of one that is, is its own
    explicit neighbour_finder(const desired& in, std::string vrf = {})
        : in_(in), vrf_(std::move(vrf)) {}

    /// named   an interface; empty: none was
    /// onlink  on the link of the one that is named, whatever its networks
    /// Errors  EINVAL with a sentence that begins behind the address' name, no object
    [[nodiscard]] result<std::string> interface_of(const ip_address& neighbour,
                                                   std::string_view named, bool onlink = false);

    /// May a route lead to the link of an interface, its destinations being neighbours there? Of the routes' own VRF:
    /// neighbours' host routes are the interface's.
    /// Errors  EINVAL with a sentence that begins behind the interface's name, no object
    [[nodiscard]] result<void> check_link(std::string_view named) const;

  private:
    [[nodiscard]] result<std::string> find(const ip_address& neighbour, std::string_view named,
                                           bool onlink) const;

    const desired& in_;
    const std::string vrf_;
    std::map<std::pair<ip_address, std::string>, std::string, std::less<>> found_;
};

/// The gateway of a recursive route: any host but one that is on one link only.
/// Errors  EINVAL with a sentence that begins behind the address' name, no object
[[nodiscard]] result<void> check_recursive(const ip_address& via);

/// In the one order that a route's members have; one alone has the weight 1.
/// Errors  EINVAL with a sentence, no object: none, too many, or one twice
[[nodiscard]] result<void> arrange_members(std::vector<route_member>& members);

/// IPv4 goes by IPv6 neighbours, too (RFC 8950), but not IPv6 by those of IPv4.
/// Errors  EINVAL with a sentence that begins behind the address' name, no object
[[nodiscard]] result<void> check_family(const ip_address& via, const ip_prefix& to);

/// Errors  EINVAL with a sentence, no object: such a prefix has no route
[[nodiscard]] result<void> check_routed_prefix(const ip_prefix& to);

}  // namespace turnpike::state
