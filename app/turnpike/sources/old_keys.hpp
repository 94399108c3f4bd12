// SPDX-License-Identifier: BSD-3-Clause
// Keys of earlier releases, which are accepted for one release: configuration files and requests are read with today's.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "yaml/node.hpp"

namespace turnpike::sources {

/// Rename old keys in a configuration file, or in the changes of a request.
///
/// Answers a line per old key: "turnpike.yaml:7: `kernel` is called `host_interface` now; ..."; each key once
/// Errors  EINVAL with the place: a map has both the old key and the new one
[[nodiscard]] result<std::vector<std::string>> rename_old_keys(yaml::document& in);

}  // namespace turnpike::sources
