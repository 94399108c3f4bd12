// SPDX-License-Identifier: BSD-3-Clause
// Answers as people read them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::ctl {

/// A table where the result has such a list: `columns` of each in it; else a line for each value.
[[nodiscard]] std::string shown_text(std::string_view list, std::string_view columns,
                                     const nlohmann::json& result);
/// Cells under each other: as many columns in each line as the first one has; nothing behind the last.
/// right  of a column: its cells end below each other
[[nodiscard]] std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& lines,
                                               const std::vector<bool>& right);
/// What differs, or was changed: a line for all, and one for each thing that has a name.
[[nodiscard]] std::string changes_text(const nlohmann::json& result);

}  // namespace turnpike::ctl
