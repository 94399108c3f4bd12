// SPDX-License-Identifier: BSD-3-Clause
// RAII wrapper for a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace turnpike {

/// Closes its file descriptor on destruction. -1: none.
class owned_fd {
  public:
    owned_fd() = default;
    explicit owned_fd(int fd) noexcept : fd_(fd) {}
    owned_fd(owned_fd&& other) noexcept : fd_(other.release()) {}
    owned_fd& operator=(owned_fd&& other) noexcept {
        reset(other.release());
        return *this;
    }
    ~owned_fd() { reset(); }
    [[nodiscard]] int get() const noexcept { return fd_; }
    int release() noexcept { return std::exchange(fd_, -1); }
    void reset(int fd = -1) noexcept {
        if (fd_ >= 0) ::close(fd_);
        fd_ = fd;
    }

  private:
    int fd_ = -1;
};

}  // namespace turnpike
