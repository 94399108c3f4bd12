// SPDX-License-Identifier: BSD-3-Clause
// Parser for untrusted YAML files: sizes are bounded, every error has file:line.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "yaml/node.hpp"

namespace turnpike::yaml {

inline constexpr size_t max_file_bytes = 256u << 20;
inline constexpr unsigned max_depth = 32;

/// Read a regular file.
///
/// Errors  ENOENT, EACCES...: of open(); EINVAL: not a regular file, over max_file_bytes
[[nodiscard]] result<std::string> read_file(const std::filesystem::path& path);
/// The same of an open file, from its beginning. name: in errors
[[nodiscard]] result<std::string> read_file(int fd, const std::string& name);

/// Parse one YAML document. Tags (!!str) are ignored.
///
/// name    its name in messages (the file's path)
/// top     name of the first node in messages; empty: none
/// Errors  EINVAL with "name:line": not YAML, a NUL byte, nested deeper than max_depth, an anchor
///         or alias (a few lines of them expand to gigabytes), a key that is no scalar or is a
///         duplicate; with "name": empty, more than one document, over max_file_bytes
[[nodiscard]] result<document> parse_yaml(std::string_view text, const std::string& name,
                                          std::string top = {});

}  // namespace turnpike::yaml
