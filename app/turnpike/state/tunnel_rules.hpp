// SPDX-License-Identifier: BSD-3-Clause
// Consistency rules of all tunnels.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "state/configuration.hpp"
#include "state/errors.hpp"

namespace turnpike::state {

/// Multicast groups to join, by interface.
using joined_groups = std::set<std::pair<std::string, ip_address>>;
[[nodiscard]] joined_groups groups_of(const configuration& in);

/// The interface of a VRF that has a local address, or null.
[[nodiscard]] const std::string* owner_of(const configuration& in, const std::string& vrf,
                                          const ip_address& a);

/// Errors  EINVAL with location and reason
void check_tunnels(const configuration& in, errors& found);

}  // namespace turnpike::state
