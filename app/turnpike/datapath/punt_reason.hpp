// SPDX-License-Identifier: BSD-3-Clause
// Punt reasons: why a worker sends a packet to control. Traces print the names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// clang-format off
#define TURNPIKE_PUNT_REASONS(X) \
    X(arp, "a complete ARP message") \
    X(nd, "a neighbour discovery message (RFC 4861)") \
    X(local, "any other packet to one of the router's own addresses or groups") \
    X(resolve, "routed, but the neighbour's MAC address is unknown (next hop kind glean)") \
    X(icmp_error, "dropped; its source gets an ICMP error") \
    X(reserved, "to a group address that bridges do not forward (IEEE 802.1Q-2018 table 8-1)") \
    X(redirect, "a copy of a packet that left by its ingress interface: its source may get a redirect") \
    X(router_alert, "in transit, with the Router Alert option (RFC 2113, RFC 2711)") \
    X(too_big, "dropped: exceeds the tunnel's MTU; its source gets an error from the remote endpoint's side") \
    X(link_protocol, "IS-IS, LLDP, CDP or what host_pass names, for the kernel") \
    X(neigh_suppress, "a copy of ARP or ND that arrived at a bridge with neigh_suppress")
// clang-format on

namespace turnpike::datapath {

enum class punt_reason : uint8_t {
#define TURNPIKE_PUNT_REASON(name, meaning) name,
    TURNPIKE_PUNT_REASONS(TURNPIKE_PUNT_REASON)
#undef TURNPIKE_PUNT_REASON
        count_  ///< number of values
};
inline constexpr size_t punt_reasons = static_cast<size_t>(punt_reason::count_);

constexpr std::string_view name(punt_reason why) noexcept {
    constexpr std::string_view names[] = {
#define TURNPIKE_PUNT_REASON(name, meaning) #name,
        TURNPIKE_PUNT_REASONS(TURNPIKE_PUNT_REASON)
#undef TURNPIKE_PUNT_REASON
    };
    return names[static_cast<size_t>(why)];
}

constexpr std::string_view meaning(punt_reason why) noexcept {
    constexpr std::string_view meanings[] = {
#define TURNPIKE_PUNT_REASON(name, meaning) meaning,
        TURNPIKE_PUNT_REASONS(TURNPIKE_PUNT_REASON)
#undef TURNPIKE_PUNT_REASON
    };
    return meanings[static_cast<size_t>(why)];
}

}  // namespace turnpike::datapath
