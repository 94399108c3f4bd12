// SPDX-License-Identifier: BSD-3-Clause
// The kernel's default routes in all tables that its rules (`ip rule`) look up, and the interfaces below them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "netlink/message.hpp"

namespace turnpike::sources {

/// Interfaces (ifindex) by which default routes leave, each with the table of one of them. A route counts if a rule of its family
/// looks up its table. If a rule looks up the tables of VRFs (l3mdev), every table counts.
/// rules      none: a kernel without policy routing, which looks up the tables main and default
/// next_hops  for routes by nexthop objects whose messages list no paths
[[nodiscard]] std::map<uint32_t, uint32_t> interfaces_of_default_routes(
    std::span<const netlink::rule> rules, std::span<const netlink::route> routes,
    std::span<const netlink::next_hop> next_hops);

/// The same from the kernel, for the network namespace of the calling thread.
///
/// only    an interface, to keep the dump of a full table short; 0: all
/// Errors  of rtnetlink
[[nodiscard]] result<std::map<uint32_t, uint32_t>> read_default_routes(uint32_t only = 0);

/// Names of an interface and of all interfaces above it: the bond or bridge that it is a port of, its VLANs, and theirs.
/// sysfs  "/sys"
[[nodiscard]] std::set<std::string> with_upper_interfaces(const std::string& sysfs,
                                                          const std::string& interface);

/// Names of the interfaces whose packets a device takes from the kernel: by its arguments (state::interface_taken_by()), and
/// the interfaces of its PCI devices beside which the kernel's driver stays (state::is_bifurcated()).
/// sysfs  "/sys"
[[nodiscard]] std::set<std::string> interfaces_taken_by(const std::string& sysfs,
                                                        const std::string& device);

/// Why a port may not have a device: a default route of the calling thread's network namespace leaves by its interface, or
/// by one above it. Empty: it may.
/// device  as in the configuration, "net_xsk0,iface=eth0" or "0000:3b:00.0"
[[nodiscard]] std::string default_route_conflict(const std::string& device);

}  // namespace turnpike::sources
