// SPDX-License-Identifier: BSD-3-Clause
// The ports and lcores of a configuration.
#pragma once

#include <filesystem>

#include "base/result.hpp"
#include "examine.hpp"

namespace turnpike::doctor {

/// m  for its CPUs: without an option for lcores, EAL has an lcore for each
/// Errors: as sources::load().
[[nodiscard]] result<plan> plan_of(const machine& m, const std::filesystem::path& configuration);

}  // namespace turnpike::doctor
