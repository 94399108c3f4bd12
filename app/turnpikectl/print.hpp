// SPDX-License-Identifier: BSD-3-Clause
// Answers as people read them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace turnpike::ctl {

/// What `show` showed: columns where it is a list, else a line for each value.
[[nodiscard]] std::string shown_text(const std::string& what, const nlohmann::json& result);
/// What differs, or was changed: a line for all, and one for each thing that has a name.
[[nodiscard]] std::string changes_text(const nlohmann::json& result);

}  // namespace turnpike::ctl
