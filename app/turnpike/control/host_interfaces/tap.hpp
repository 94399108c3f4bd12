// SPDX-License-Identifier: BSD-3-Clause
// A TAP interface. It exists as long as this object.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string>

#include "base/owned_fd.hpp"
#include "base/result.hpp"

namespace turnpike::control {

/// Threads  one that reads and writes frames, which does not block, and another one that sets the carrier.
class tap {
  public:
    /// Created down, without carrier; in the network namespace of the calling thread.
    /// Errors  EBUSY: there is an interface of that name; ENOENT: no /dev/net/tun; EPERM, ...
    [[nodiscard]] static result<tap> create(const std::string& name);

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] uint32_t index() const noexcept { return index_; }  ///< ifindex
    /// May wait for other programs: the kernel's RTNL lock. False: refused.
    [[nodiscard]] bool set_carrier(bool on) const noexcept;

    /// Write a frame. False: the interface is down, or out of memory.
    [[nodiscard]] bool write(std::span<const iovec> frame) noexcept;
    /// Read the next frame from the kernel; 0: none.
    [[nodiscard]] size_t read(std::span<uint8_t> into) noexcept;

  private:
    owned_fd fd_{};
    uint32_t index_ = 0;
};

}  // namespace turnpike::control
