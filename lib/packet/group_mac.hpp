// SPDX-License-Identifier: BSD-3-Clause
// The MAC address of an IPv4 or IPv6 multicast group.
#pragma once

#include "net/ip.hpp"
#include "packet/ipv4.hpp"
#include "packet/ipv6.hpp"

namespace turnpike::packet {

inline mac_address multicast_mac(const ip_address& group) noexcept {
    return group.v6 ? multicast_mac(group.v6_bytes()) : multicast_mac(group.v4());
}

}  // namespace turnpike::packet
