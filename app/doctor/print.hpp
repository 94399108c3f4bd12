// SPDX-License-Identifier: BSD-3-Clause
// Findings as text and as JSON (turnpike.doctor/1), and the changes of --fix as a diff.
#pragma once

#include <string>
#include <vector>

#include "examine.hpp"

namespace turnpike::doctor {

[[nodiscard]] std::string text_of(const std::vector<diagnosis>& all);
[[nodiscard]] std::string json_of(const std::vector<diagnosis>& all);
/// "--- file", "-old", "+new" for each change.
[[nodiscard]] std::string diff_of(const std::vector<file_change>& changes);
/// The number of diagnoses of a level.
[[nodiscard]] size_t count_of(const std::vector<diagnosis>& all, severity level);

}  // namespace turnpike::doctor
