// SPDX-License-Identifier: BSD-3-Clause
// Address blocks that RFC 6890 and its registry mark as not forwardable, except the blocks that are always dropped
// (lib/packet/ipv4.hpp, ipv6.hpp). As routes: the operator's routes and connected networks inside a block are longer
// prefixes, or take precedence.
#pragma once

#include <array>
#include <string_view>

namespace turnpike::control {

inline constexpr std::array<std::string_view, 9> special_purpose_blocks{
    // 192.0.0.0/24, IETF protocol assignments, without its first sixteen addresses, some of which
    // are forwarded (DS-Lite's 192.0.0.0/29, anycast of RFC 7723 and RFC 8155).
    "192.0.0.16/28",   "192.0.0.32/27", "192.0.0.64/26", "192.0.0.128/25",
    "192.0.2.0/24",     // documentation (RFC 5737)
    "198.51.100.0/24",  // the same
    "203.0.113.0/24",   // the same
    "2001:10::/28",     // ORCHID (RFC 4843), deprecated
    "2001:db8::/32",    // documentation (RFC 3849)
};

}  // namespace turnpike::control
