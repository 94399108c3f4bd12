// SPDX-License-Identifier: BSD-3-Clause
// IPv4 options (RFC 791 section 3.1): a type; all but two types have a length byte.
#pragma once

#include <cstddef>
#include <cstdint>

namespace turnpike::packet {

enum ipv4_option : uint8_t {
    ipv4_option_end = 0,
    ipv4_option_nothing = 1,
    ipv4_option_loose_route = 131,
    ipv4_option_strict_route = 137,
    ipv4_option_router_alert = 148,  ///< RFC 2113
};

/// True if some option's type satisfies is(type). Stops at the first malformed option.
///
/// header  with `header_bytes` of it
template <class Is>
[[nodiscard]] inline bool find_ipv4_option(const uint8_t* header, uint32_t header_bytes,
                                           const Is& is) noexcept {
    constexpr uint32_t fixed_bytes = 20;
    for (uint32_t at = fixed_bytes; at < header_bytes;) {
        const uint8_t type = header[at];
        if (type == ipv4_option_end) return false;
        if (is(type)) return true;
        const uint32_t bytes = type == ipv4_option_nothing ? 1
                               : at + 1 < header_bytes     ? header[at + 1]
                                                           : 0;
        if (bytes == 0 || (bytes == 1 && type != ipv4_option_nothing)) return false;
        at += bytes;
    }
    return false;
}

/// True if the packet has a source route option.
///
/// header  with `header_bytes` of it
[[nodiscard]] inline bool is_source_routed(const uint8_t* header, uint32_t header_bytes) noexcept {
    return find_ipv4_option(header, header_bytes, [](uint8_t type) {
        return type == ipv4_option_loose_route || type == ipv4_option_strict_route;
    });
}

}  // namespace turnpike::packet
