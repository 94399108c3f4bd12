// SPDX-License-Identifier: BSD-3-Clause
// Parser for frame sizes: "64", "64-1500", "64-1500:4" (every fourth), "64,128,256-512".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace turnpike::pcie_tool {

/// In the order given; bytes with FCS, 64 to 16384.
///
/// Errors  EINVAL: not a size, a descending range, a step of 0
[[nodiscard]] result<std::vector<uint32_t>> parse_frame_list(std::string_view text);

}  // namespace turnpike::pcie_tool
