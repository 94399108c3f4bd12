// SPDX-License-Identifier: BSD-3-Clause
// Source of an object of the configuration: "file:line", where file may be a request's.
#pragma once

#include <string>

namespace turnpike::state {

/// All origins compare equal: moving an object to another line of the file is no change.
struct origin {
    std::string text{};
    bool operator==(const origin&) const noexcept { return true; }
};

}  // namespace turnpike::state
