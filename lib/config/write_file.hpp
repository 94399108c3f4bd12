// SPDX-License-Identifier: BSD-3-Clause
// A file that is always whole: the old one until the new one is on the disk.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace turnpike::config {

/// Written beside it, flushed to the disk and renamed; mode and owner are those of the file that was
/// there. What a symbolic link leads to is replaced, not the link. Threads any.
/// Errors  ENOENT, EACCES, ENOSPC...: what was there is there, nothing is left behind
[[nodiscard]] result<void> write_file(const std::string& path, std::string_view text);

}  // namespace turnpike::config
