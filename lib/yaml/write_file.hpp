// SPDX-License-Identifier: BSD-3-Clause
// Atomic replacement of a file: the old one stays until the new one is on disk.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace turnpike::yaml {

/// Writes a temporary file, flushes it to disk and renames it; it copies mode and owner from the
/// replaced file, or from `like` if that is not empty. A user who may not give files away becomes the owner. Follows a symbolic link and replaces its target.
/// Writes to a device, FIFO or socket as it is; opening a FIFO waits for its reader. Threads any.
///
/// Errors  ENOENT, EACCES, ENOSPC...: the old file is unchanged, no temporary file remains. EBUSY: the file is a mount point
[[nodiscard]] result<void> write_file(const std::string& path, std::string_view text,
                                      const std::string& like = {});

/// For results, as reports: write_file(), or if it cannot replace an existing file that is writable (in another user's folder, a
/// mount point, as in containers), the file is truncated and written as it is. Threads any.
///
/// Errors  as write_file()
[[nodiscard]] result<void> write_output(const std::string& path, std::string_view text);
/// Whether write_output() can write, before work whose result would be lost: creates its temporary file and removes it. An
/// existing file stays as it is. Threads any.
///
/// Errors  as write_output(), except a full disk
[[nodiscard]] result<void> check_output(const std::string& path);

}  // namespace turnpike::yaml
