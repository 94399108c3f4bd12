// SPDX-License-Identifier: BSD-3-Clause
// The file of a listening UNIX socket: made with its final mode, and never another's.
#pragma once

#include <cstdint>
#include <string>

#include "base/owned_fd.hpp"
#include "base/result.hpp"

namespace turnpike::sources {

/// A non-blocking stream socket that listens, and its file, which goes with it.
class listener {
  public:
    /// At a path where nothing is, or a file that a dead process left; mode 0660.
    /// group, owner  by name or number; empty: the process's
    /// Errors  EADDRINUSE: somebody listens there; EEXIST: no socket; ENAMETOOLONG; ENOENT: the folder
    ///         or the group, the owner; EPERM: only root gives it to others; EACCES...
    [[nodiscard]] static result<listener> at(const std::string& path, const std::string& group,
                                             const std::string& owner);
    /// At no path.
    listener() = default;
    listener(listener&& other) noexcept;
    listener& operator=(listener&& other) noexcept;
    ~listener();

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    /// Its file is where it was made, and no other is there.
    [[nodiscard]] bool has_its_file() const noexcept;
    /// Another owner and group of the file.
    /// Errors  ENOENT: there is no such one; EPERM...
    [[nodiscard]] result<void> give_to(const std::string& group, const std::string& owner) const;
    /// The file's folder was made for it: it goes too, where nothing else is in it by then.
    void owns_folder() noexcept { owns_folder_ = true; }

  private:
    owned_fd fd_{};
    std::string path_{};
    uint64_t device_ = 0, inode_ = 0;  ///< of the file
    bool owns_folder_ = false;
};

}  // namespace turnpike::sources
