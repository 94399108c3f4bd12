// SPDX-License-Identifier: BSD-3-Clause
// A file's lines, one after the other: plain or gzip, bounded, never whole in memory.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "base/result.hpp"

namespace turnpike::config {

inline constexpr size_t max_line_bytes = 4096;
inline constexpr size_t max_lines_bytes = size_t{1} << 32;  ///< of a file, uncompressed

/// take    called for each line, without its end; its first error ends the reading
/// Errors  take's; ENOENT, EACCES...: cannot be opened; EINVAL with the path: no regular file, broken
///         compression; with "path:line": a longer line, a byte that no text has
[[nodiscard]] result<void> for_each_line(
    const std::filesystem::path& path,
    const std::function<result<void>(std::string_view line)>& take);

}  // namespace turnpike::config
