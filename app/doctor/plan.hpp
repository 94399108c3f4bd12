// SPDX-License-Identifier: BSD-3-Clause
// The ports and lcores of a configuration.
#pragma once

#include <filesystem>

#include "base/result.hpp"
#include "examine.hpp"

namespace turnpike::doctor {

/// Errors: as sources::load().
[[nodiscard]] result<plan> plan_of(const std::filesystem::path& configuration);

}  // namespace turnpike::doctor
