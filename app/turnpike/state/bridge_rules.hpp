// SPDX-License-Identifier: BSD-3-Clause
// Consistency rules of bridges.
#pragma once

#include "base/result.hpp"
#include "state/configuration.hpp"

namespace turnpike::state {

/// Errors  EINVAL with the location
[[nodiscard]] result<void> check_bridges(const configuration& in);

}  // namespace turnpike::state
