// SPDX-License-Identifier: BSD-3-Clause
// The kernel's sysctls of a router interface. Linux creates interfaces with a host's defaults, and a host accepts
// router advertisements (RFC 4862 section 4) and redirects, which any other host of the link can send.
#pragma once

#include <string>

#include "base/result.hpp"

namespace turnpike::control {

/// Sets forwarding on; accept_ra, autoconf and accept_redirects off. All other sysctls stay. In the
/// network namespace of the calling thread. IPv6 is skipped if the interface has none: disabled in
/// the kernel, or an MTU below 1280.
/// Errors  EACCES, EROFS, ... with the sysctl's file; none if it has the value already
[[nodiscard]] result<void> set_router_sysctls(const std::string& interface, bool accept_ra);

}  // namespace turnpike::control
