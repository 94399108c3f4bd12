// SPDX-License-Identifier: BSD-3-Clause
// The configuration file as a source: YAML to a desired state, validated whole.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "state/desired.hpp"

namespace turnpike::sources {

/// Read and validate a file, and the files that it names. Errors: ENOENT..., or EINVAL with
/// "file:line" and a plain sentence.
[[nodiscard]] result<state::desired> load(const std::filesystem::path& path);

/// The same for a text; `name` is what messages call it.
[[nodiscard]] result<state::desired> load_text(std::string_view text, const std::string& name);

/// Split "-l 0-1 --no-pci" at blanks; quotes ('..' or "..") hold blanks together.
[[nodiscard]] result<std::vector<std::string>> split_arguments(std::string_view line);

}  // namespace turnpike::sources
