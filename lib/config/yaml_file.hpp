// SPDX-License-Identifier: BSD-3-Clause
// Reading a YAML file that a stranger may have written: bounded, every complaint with file:line.
#pragma once

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace turnpike::config {

inline constexpr size_t max_file_bytes = 16u << 20;
inline constexpr unsigned max_depth = 32;

/// Read a regular file whole.
/// Errors  ENOENT, EACCES...: cannot be opened; EINVAL: not a regular file, over 16 MB, a NUL byte
[[nodiscard]] result<std::string> read_file(const std::filesystem::path& path);

/// Parse one YAML document.
/// name    what messages call it (the file's path)
/// Errors  EINVAL with "name:line": not YAML, more than one document, nested deeper than max_depth,
///         an anchor or alias (a few lines of them expand to gigabytes), a key given twice
[[nodiscard]] result<YAML::Node> parse_yaml(std::string_view text, const std::string& name);

}  // namespace turnpike::config
