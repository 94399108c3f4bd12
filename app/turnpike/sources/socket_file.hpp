// SPDX-License-Identifier: BSD-3-Clause
// The file of a listening UNIX socket: made with its final mode, and never another's.
#pragma once

#include <string>

#include "base/owned_fd.hpp"
#include "base/result.hpp"

namespace turnpike::sources {

/// A non-blocking stream socket that listens at `path`, mode 0660; a file that a dead process left is
/// replaced.
/// group, owner  by name or number; empty: the process's
/// Errors  EADDRINUSE: somebody listens there; EEXIST: no socket; ENAMETOOLONG; ENOENT: the folder or
///         the group, the owner; EPERM: only root gives it to others; EACCES...
[[nodiscard]] result<owned_fd> listen_at(const std::string& path, const std::string& group,
                                         const std::string& owner);

}  // namespace turnpike::sources
