// SPDX-License-Identifier: BSD-3-Clause
// Consistency rules of bridges.
#pragma once

#include "state/configuration.hpp"
#include "state/errors.hpp"

namespace turnpike::state {

/// Errors  EINVAL with the location
void check_bridges(const configuration& in, errors& found);

}  // namespace turnpike::state
