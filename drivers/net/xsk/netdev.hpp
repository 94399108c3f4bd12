// SPDX-License-Identifier: BSD-3-Clause
// Interface features from the kernel's generic netlink family "netdev".
//
// Source: Documentation/netlink/specs/netdev.yaml (Linux 6.6); netlink(7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace turnpike::xsk {

/// Maximum descriptors per frame that the driver sends in zero-copy mode. The kernel drops a frame
/// of more descriptors and never returns its buffers. 0: the kernel does not report it.
///
/// Threads any, in the interface's network namespace
[[nodiscard]] uint32_t zero_copy_parts(unsigned ifindex) noexcept;

/// The value of an attribute after the netlink and generic netlink headers; empty if absent.
[[nodiscard]] std::span<const std::byte> netlink_attribute(std::span<const std::byte> message,
                                                           uint16_t type) noexcept;

}  // namespace turnpike::xsk
