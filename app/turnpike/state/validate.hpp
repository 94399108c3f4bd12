// SPDX-License-Identifier: BSD-3-Clause
// Validation of a complete configuration from any source.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "state/configuration.hpp"
#include "state/errors.hpp"

namespace turnpike::state {

/// An invalid route, and the reason: a sentence that continues after its prefix.
struct wrong_route {
    std::string vrf{};
    ip_prefix to{};
    std::string why{};
};
[[nodiscard]] std::optional<wrong_route> find_wrong_route(const configuration& in);

inline constexpr size_t max_interfaces =
    1023;  ///< of all kinds; datapath::max_interfaces has one unused

/// Checks that every port has one use; devices, addresses and networks are unique; objects referenced by routes,
/// neighbours and bindings exist; buffers are large enough for originated packets;
/// numbers of objects are within their limits.
/// Errors  EINVAL, with the location
[[nodiscard]] result<void> validate(const configuration& in);
/// Every error that validate() would find, up to max_errors.
[[nodiscard]] errors find_errors(const configuration& in);

}  // namespace turnpike::state
