// SPDX-License-Identifier: BSD-3-Clause
// Consistency rules of bridges.
#pragma once

#include "base/result.hpp"
#include "state/desired.hpp"

namespace turnpike::state {

/// Errors  EINVAL with the location
[[nodiscard]] result<void> check_bridges(const desired& in);

}  // namespace turnpike::state
