// SPDX-License-Identifier: BSD-3-Clause
// Origin of an object of the configuration: "file:line", or the socket.
#pragma once

#include <string>

namespace turnpike::state {

/// All origins compare equal: another line number is no change.
struct origin {
    std::string text{};
    bool operator==(const origin&) const noexcept { return true; }
};

}  // namespace turnpike::state
