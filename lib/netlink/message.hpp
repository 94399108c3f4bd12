// SPDX-License-Identifier: BSD-3-Clause
// rtnetlink messages as plain data.
//
// Source: rtnetlink(7), linux/rtnetlink.h, linux/nexthop.h, linux/fib_rules.h. Numbers named by
// kernel headers (protocols, scopes, types, states) stay numbers; the user of a message interprets
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "net/ip.hpp"
#include "net/mac.hpp"

namespace turnpike::netlink {

struct link {
    bool gone = false;
    uint32_t index = 0;
    std::string name{};
    bool up = false;       ///< administratively up (IFF_UP)
    bool carrier = false;  ///< lower layer up (IFF_LOWER_UP)
    bool running = false;  ///< operational (IFF_RUNNING, RFC 2863); follows the carrier
    uint32_t mtu = 0;
    std::optional<mac_address> mac{};  ///< if it has one of 6 bytes
    uint32_t master = 0;     ///< interface that it belongs to, as a bridge or a VRF device; 0: none
    uint32_t vrf_table = 0;  ///< of a VRF device (Linux, networking/vrf.rst); 0: it is none
    bool operator==(const link&) const = default;
};

struct address {
    bool gone = false;
    uint32_t interface = 0;
    ip_prefix local{};  ///< our address, with the prefix length of its network
    std::optional<ip_address>
        remote{};  ///< point-to-point: the peer's address, whose network it is
    uint8_t scope = 0;
    uint32_t flags = 0;  ///< IFA_F_*
    bool operator==(const address&) const = default;
};

struct neighbour {
    bool gone = false;
    uint32_t interface = 0;
    ip_address at{};
    std::optional<mac_address> mac{};
    uint16_t state = 0;  ///< NUD_*
    uint8_t flags = 0;   ///< NTF_*
    bool operator==(const neighbour&) const = default;
};

/// One next hop of a route.
struct nexthop {
    uint32_t interface = 0;           ///< 0: none
    std::optional<ip_address> via{};  ///< nullopt: directly connected
    uint16_t weight = 1;              ///< 1 to 256; in next-hop groups to 65536
    uint8_t flags = 0;                ///< RTNH_F_*
    uint64_t encap = 0;               ///< lightweight tunnel: a digest of its attributes; 0: none
    bool operator==(const nexthop&) const = default;
};

struct route {
    bool gone = false;
    /// NLM_F_* of a notification: CREATE, EXCL, REPLACE, APPEND; MULTI in the reply to a dump.
    uint16_t how = 0;
    ip_prefix to{};
    ip_prefix from{};  ///< IPv6 source-specific routes; length 0: any source
    uint32_t table = 0;
    uint8_t protocol = 0, scope = 0, type = 0, tos = 0;  ///< RTPROT_*, RT_SCOPE_*, RTN_*
    uint32_t flags = 0;                                  ///< RTM_F_*
    uint32_t metric = 0;
    uint32_t next_hop = 0;               ///< the ID of a nexthop object; 0: none
    std::vector<nexthop> nexthops{};     ///< multipath: each with its weight
    std::optional<ip_address> source{};  ///< preferred source address (RTA_PREFSRC)
    uint32_t mtu = 0;                    ///< RTAX_MTU; 0: the interface's
    bool mtu_locked = false;             ///< RTAX_LOCK: path MTU discovery does not change it
    uint64_t metrics = 0;                ///< digest of RTA_METRICS and RTA_FLOW; 0: none
    uint8_t preference = 0;              ///< RFC 4191: 0 medium, 1 high, 3 low
    bool expires = false;                ///< IPv6: it has a lifetime
    bool operator==(const route&) const = default;
};

/// A nexthop object: a single next hop, or a group.
struct next_hop {
    struct member {
        uint32_t id = 0;
        uint16_t weight = 1;
        bool operator==(const member&) const = default;
    };
    bool gone = false;
    uint32_t id = 0;
    uint8_t protocol = 0;
    bool blackhole = false, resilient = false;
    bool fdb = false;  ///< for VXLAN forwarding databases, not for routes
    nexthop path{};
    std::vector<member> group{};
    bool operator==(const next_hop&) const = default;
};

struct rule {
    bool gone = false;
    bool v6 = false;
    uint32_t priority = 0, table = 0;
    uint8_t action = 0;  ///< FR_ACT_*
    bool l3mdev = false;
    std::string in{}, out{};  ///< interfaces; empty: any
    std::optional<ip_prefix> from{}, to{};
    bool operator==(const rule&) const = default;
};

/// The end of a dump. code: 0, or a positive errno value.
struct done {
    int code = 0;
    bool operator==(const done&) const = default;
};

/// Messages were lost.
struct overrun {
    bool operator==(const overrun&) const = default;
};

using content = std::variant<link, address, neighbour, route, next_hop, rule, done, overrun>;

struct message {
    uint32_t sequence = 0;     ///< of the request that it answers or that caused it; 0: none
    bool interrupted = false;  ///< the dump is inconsistent (NLM_F_DUMP_INTR): repeat the request
    content what{};
    uint32_t requester = 0;  ///< port ID of the socket of that request; 0: the kernel itself
    bool listed = false;     ///< in the reply to a dump (NLM_F_MULTI)
    bool operator==(const message&) const = default;
};

}  // namespace turnpike::netlink
