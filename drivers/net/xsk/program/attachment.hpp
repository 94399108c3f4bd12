// SPDX-License-Identifier: BSD-3-Clause
// A BPF program that somebody else attached to an interface: which, how, and taking it off for a while.
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
    std::string name{};  ///< empty where the kernel does not tell (without CAP_SYS_ADMIN)
    owned_fd program{};  ///< keeps it alive; likewise

    /// "the BPF program xdp_filter (id 7, driver mode, attached by netlink)"
    [[nodiscard]] std::string text() const;
};

/// What is attached, if anything.
/// unattached  a program that is on no interface: what the kernel says of it tells a link from netlink
/// Errors      the kernel's
[[nodiscard]] result<std::optional<attachment>> find_attachment(const std::string& iface,
                                                                unsigned ifindex, int unattached);

/// A netlink-attached program taken off, and put back by restore() or at the end.
class displaced {
  public:
    /// Errors  EBUSY: a link owns it; EPERM: a program cannot be kept without CAP_SYS_ADMIN; ...
    [[nodiscard]] static result<displaced> take_off(const std::string& iface, unsigned ifindex,
                                                    attachment&& there);
    displaced(displaced&& other) noexcept;
    displaced& operator=(displaced&&) = delete;
    ~displaced();
    /// Errors  the kernel's; ENODEV is none: an interface that is gone needs no program
    [[nodiscard]] result<void> restore();

  private:
    displaced(std::string iface, unsigned ifindex, attachment&& there) noexcept;
    std::string iface_;
    unsigned ifindex_;
    attachment there_;
};

}  // namespace turnpike::xsk
