// SPDX-License-Identifier: BSD-3-Clause
// The kernel's settings of a router's interface. Linux makes interfaces as a host has them, and a host configures
// itself by router advertisements (RFC 4862 section 4) and redirects, which any other host of the link can send.
#pragma once

#include <string>

#include "base/result.hpp"

namespace turnpike::control {

/// forwarding on; accept_ra, autoconf and accept_redirects off. All other settings stay. For the network namespace of
/// the calling thread. IPv6 is left out where the interface has none: the kernel's is off, or the MTU is below 1280.
/// Errors  EACCES, EROFS, ... with the setting's file; none where it has the value already
[[nodiscard]] result<void> set_router_sysctls(const std::string& interface);

}  // namespace turnpike::control
