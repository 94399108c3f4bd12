// SPDX-License-Identifier: BSD-3-Clause
// The ports and lcores of a configuration.
#pragma once

#include <filesystem>

#include "base/result.hpp"
#include "examine.hpp"

namespace turnpike::doctor {

/// Errors: as sources::load().
[[nodiscard]] result<plan> plan_of(const std::filesystem::path& configuration);

/// The CPUs of EAL's -l, -c and --lcores; empty without any of them.
[[nodiscard]] std::set<unsigned> cpus_of(const std::vector<std::string>& eal_arguments);

}  // namespace turnpike::doctor
