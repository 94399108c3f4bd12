// SPDX-License-Identifier: BSD-3-Clause
// Router alert: "routers should examine this packet more closely" (RFC 2113, RFC 2711; use: RFC
// 6398). Ignores the option's value; the protocol that receives the packet interprets it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "packet/headers.hpp"
#include "packet/ipv4_options.hpp"
#include "packet/parse.hpp"

namespace turnpike::packet {

enum ipv6_option : uint8_t {
    ipv6_option_pad1 = 0,  ///< one byte; all other options have a length byte
    ipv6_option_router_alert = 5,
};

/// True if the packet has a router alert option. Stops at the first malformed option, and at the end of what is readable.
/// l3        IPv4 or IPv6, as parse() read it
/// readable  bytes at l3: of several segments, the first may end inside the hop-by-hop header
[[nodiscard]] inline bool has_router_alert(const uint8_t* l3, uint32_t readable,
                                           const parsed& p) noexcept {
    if (p.is(flag_ipv4_options))
        return find_ipv4_option(l3, p.ipv4_header_bytes,
                                [](uint8_t type) { return type == ipv4_option_router_alert; });
    if (!p.is(flag_hop_by_hop)) return false;
    // The hop-by-hop header is the first extension, and parse() checked that the packet has all of it (RFC 8200
    // section 4.3).
    const uint8_t* const extension = l3 + sizeof(ipv6_header);
    const uint32_t bytes =
        std::min((extension[1] + 1U) * 8, readable - uint32_t{sizeof(ipv6_header)});
    for (uint32_t at = 2; at < bytes;) {
        if (extension[at] == ipv6_option_router_alert) return true;
        if (extension[at] == ipv6_option_pad1)
            ++at;
        else
            at += at + 1 < bytes ? 2U + extension[at + 1] : 1U;
    }
    return false;
}

}  // namespace turnpike::packet
