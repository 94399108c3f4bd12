// SPDX-License-Identifier: BSD-3-Clause
// The file of a listening UNIX socket: created with its final mode; never removes another process's file.
#pragma once

#include <cstdint>
#include <string>

#include "base/owned_fd.hpp"
#include "base/result.hpp"

namespace turnpike::sources {

/// Removes the file of a socket whose process is gone, so that a socket can be bound there.
/// Errors  EADDRINUSE: a process listens there; EEXIST: not a socket; ENAMETOOLONG; EACCES...
[[nodiscard]] result<void> remove_stale_socket(const std::string& path);

/// A non-blocking listening stream socket, which owns its file.
class listener {
  public:
    /// Listens on a path that does not exist, or was left by a dead process; mode 0660.
    /// group, owner  by name or number; empty: the process's
    /// Errors  EADDRINUSE: a process listens there; EEXIST: not a socket; ENAMETOOLONG; ENOENT: no such folder,
    ///         group or owner; EPERM: only root may change the owner; EACCES...
    [[nodiscard]] static result<listener> at(const std::string& path, const std::string& group,
                                             const std::string& owner);
    /// Not listening.
    listener() = default;
    listener(listener&& other) noexcept;
    listener& operator=(listener&& other) noexcept;
    ~listener();

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    /// Whether the path still has the file created by this listener.
    [[nodiscard]] bool has_its_file() const noexcept;
    /// Changes owner and group of the file.
    /// Errors  ENOENT: no such user or group; EPERM...
    [[nodiscard]] result<void> set_owner(const std::string& group, const std::string& owner) const;
    /// The folder was created for the file: remove it, too, if it is empty.
    void owns_folder() noexcept { owns_folder_ = true; }

  private:
    owned_fd fd_{};
    std::string path_{};
    uint64_t device_ = 0, inode_ = 0;  ///< of the file
    bool owns_folder_ = false;
};

}  // namespace turnpike::sources
