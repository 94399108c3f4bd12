// SPDX-License-Identifier: BSD-3-Clause
// A BPF program that another process attached to an interface: query it, detach it for a while.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/owned_fd.hpp"
#include "base/result.hpp"

namespace turnpike::xsk {

struct attachment {
    uint32_t id = 0;
    uint32_t flags = 0;  ///< XDP_FLAGS_DRV_MODE, SKB_MODE or HW_MODE; 0: in several modes
    bool by_link = false;
    std::string name{};  ///< empty if the kernel does not report it (without CAP_SYS_ADMIN)
    owned_fd program{};  ///< holds a reference to the program; empty without CAP_SYS_ADMIN

    /// "the BPF program xdp_filter (id 7, driver mode, attached by netlink)"
    [[nodiscard]] std::string text() const;
};

/// Find the program attached to the interface, if any.
///
/// unattached  a program attached to no interface, used to tell a link from a netlink attachment
/// Errors      the kernel's
[[nodiscard]] result<std::optional<attachment>> find_attachment(const std::string& iface,
                                                                unsigned ifindex, int unattached);

/// A detached program; restore() or the destructor attaches it again. Netlink attachments only.
class displaced {
  public:
    /// Errors  EBUSY: a link owns it; EPERM: holding the program needs CAP_SYS_ADMIN; else the
    /// kernel's
    [[nodiscard]] static result<displaced> detach_from(const std::string& iface, unsigned ifindex,
                                                       attachment&& there);
    displaced(displaced&& other) noexcept;
    displaced& operator=(displaced&&) = delete;
    ~displaced();
    /// Errors  the kernel's, except ENODEV: a removed interface needs no program
    [[nodiscard]] result<void> restore();

  private:
    displaced(std::string iface, unsigned ifindex, attachment&& there) noexcept;
    std::string iface_;
    unsigned ifindex_;
    attachment there_;
};

}  // namespace turnpike::xsk
