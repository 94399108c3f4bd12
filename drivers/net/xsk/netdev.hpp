// SPDX-License-Identifier: BSD-3-Clause
// What the kernel's generic netlink family "netdev" says of an interface's driver.
// Source: Documentation/netlink/specs/netdev.yaml (Linux 6.6); netlink(7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace turnpike::xsk {

/// Descriptors that the driver sends as one frame in zero-copy mode: one more, and the kernel drops the frame
/// and never gives its buffers back. 0: the kernel does not say.
/// Threads any, in the interface's network namespace
[[nodiscard]] uint32_t zero_copy_parts(unsigned ifindex) noexcept;

/// The value of an attribute behind netlink's and generic netlink's headers; empty: there is none.
[[nodiscard]] std::span<const std::byte> netlink_attribute(std::span<const std::byte> message,
                                                           uint16_t type) noexcept;

}  // namespace turnpike::xsk
