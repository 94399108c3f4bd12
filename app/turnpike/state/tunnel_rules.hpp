// SPDX-License-Identifier: BSD-3-Clause
// What is true of all tunnels together.
#pragma once

#include "state/desired.hpp"

namespace turnpike::state {

/// Errors  EINVAL with the place, and why it cannot be
[[nodiscard]] result<void> check_tunnels(const desired& in);

}  // namespace turnpike::state
