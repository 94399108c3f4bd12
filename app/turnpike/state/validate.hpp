// SPDX-License-Identifier: BSD-3-Clause
// What must hold of a state as a whole, whichever source made it.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "state/desired.hpp"

namespace turnpike::state {

/// A route that cannot be, and why: a sentence that goes on behind its prefix.
struct wrong_route {
    std::string vrf{};
    ip_prefix to{};
    std::string why{};
};
[[nodiscard]] std::optional<wrong_route> find_wrong_route(const desired& in);

/// Every port has one thing to do; no device, address or network is anywhere twice; what routes,
/// neighbours and bindings name is there; buffers hold what is made in them.
/// Errors  EINVAL, with the place of what is wrong
[[nodiscard]] result<void> validate(const desired& in);

}  // namespace turnpike::state
