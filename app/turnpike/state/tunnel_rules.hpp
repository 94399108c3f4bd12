// SPDX-License-Identifier: BSD-3-Clause
// What is true of all tunnels together.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "state/desired.hpp"

namespace turnpike::state {

/// Which groups are joined for tunnels, by which interfaces.
using joined_groups = std::set<std::pair<std::string, ip_address>>;
[[nodiscard]] joined_groups groups_of(const desired& in);

/// Errors  EINVAL with the place, and why it cannot be
[[nodiscard]] result<void> check_tunnels(const desired& in);

}  // namespace turnpike::state
