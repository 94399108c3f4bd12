// SPDX-License-Identifier: BSD-3-Clause
// The configuration file: YAML to a validated state::configuration.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "state/configuration.hpp"
#include "state/errors.hpp"

namespace turnpike::sources {

/// Reads and validates a file, and the files that it names. Errors: ENOENT..., or EINVAL with
/// "file:line" and a sentence.
[[nodiscard]] result<state::configuration> load(const std::filesystem::path& path);
/// Likewise, with every error of reading or, if there is none, of the rules across objects; one error of a file of
/// routes or rules, and none of routes beside errors of ports.
[[nodiscard]] tl::expected<state::configuration, state::errors> load_whole(
    const std::filesystem::path& path);

/// Reads a text; messages refer to it as `name`.
[[nodiscard]] result<state::configuration> load_text(std::string_view text,
                                                     const std::string& name);
[[nodiscard]] tl::expected<state::configuration, state::errors> load_whole_text(
    std::string_view text, const std::string& name);

/// Split "-l 0-1 --no-pci" at blanks; quotes ('..' or "..") protect blanks.
[[nodiscard]] result<std::vector<std::string>> split_arguments(std::string_view line);

}  // namespace turnpike::sources
