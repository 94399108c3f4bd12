// SPDX-License-Identifier: BSD-3-Clause
// What bridges must be so that every frame has one way.
#pragma once

#include "base/result.hpp"
#include "state/desired.hpp"

namespace turnpike::state {

/// Errors  EINVAL with the place
[[nodiscard]] result<void> check_bridges(const desired& in);

}  // namespace turnpike::state
