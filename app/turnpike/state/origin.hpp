// SPDX-License-Identifier: BSD-3-Clause
// Where an object of the desired state comes from: "file:line" now; the socket and netlink follow.
#pragma once

#include <string>

namespace turnpike::state {

/// All are equal: what stands on another line of the file has not changed.
struct origin {
    std::string text{};
    bool operator==(const origin&) const noexcept { return true; }
};

}  // namespace turnpike::state
