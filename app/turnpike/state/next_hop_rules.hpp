// SPDX-License-Identifier: BSD-3-Clause
// What a route may lead to, whichever source it comes from.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "state/desired.hpp"

namespace turnpike::state {

/// RFC 3021: a /31 has neither a network nor a broadcast address.
[[nodiscard]] bool is_network_or_broadcast(const ip_prefix& p) noexcept;

/// Finds the interface that a neighbour is behind: the one named, or the one on whose network it is.
/// Remembers what it found, because a million routes name few neighbours.
class neighbour_finder {
  public:
    explicit neighbour_finder(const desired& in) : in_(in) {}

    /// named   an interface; empty: none was
    /// Errors  EINVAL with a sentence that begins behind the address' name, no object
    [[nodiscard]] result<std::string> interface_of(const ip_address& neighbour,
                                                   std::string_view named);

  private:
    [[nodiscard]] result<std::string> find(const ip_address& neighbour,
                                           std::string_view named) const;

    const desired& in_;
    std::map<std::pair<ip_address, std::string>, std::string, std::less<>> found_;
};

/// Errors  EINVAL with a sentence, no object: such a prefix has no route
[[nodiscard]] result<void> check_routed_prefix(const ip_prefix& to);

}  // namespace turnpike::state
