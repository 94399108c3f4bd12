// SPDX-License-Identifier: BSD-3-Clause
// The interfaces by which the machine's own default routes leave. A port that takes all packets of one would cut the
// machine off.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace turnpike::state {

/// Interfaces of default routes.
/// ipv4, ipv6  contents of /proc/net/route and /proc/net/ipv6_route (proc(5))
[[nodiscard]] std::set<std::string> default_route_interfaces(std::string_view ipv4,
                                                             std::string_view ipv6);

/// The kernel's interface whose packets a device takes from the kernel; empty: none. A net_xsk device with a filter, or
/// with another program's map, leaves packets to the kernel.
/// device  an EAL device string
[[nodiscard]] std::string interface_taken_by(std::string_view device);

/// The path of the socket on which a device of vhost-user, virtio-user or memif listens; empty: it connects, its socket
/// has no file, or it is another device.
[[nodiscard]] std::string listening_socket_of(std::string_view device);

}  // namespace turnpike::state
