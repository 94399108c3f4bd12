// SPDX-License-Identifier: BSD-3-Clause
// What the kernel says by rtnetlink, as plain data.
// Source: rtnetlink(7), linux/rtnetlink.h, linux/nexthop.h, linux/fib_rules.h. Numbers whose names are the
// kernel's (protocols, scopes, types, states) stay numbers: what one of them means is its reader's.
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
    bool up = false;       ///< by who administers it
    bool carrier = false;  ///< it could send
    uint32_t mtu = 0;
    std::optional<mac_address> mac{};  ///< where it has one of 6 bytes
    bool operator==(const link&) const = default;
};

struct address {
    bool gone = false;
    uint32_t interface = 0;
    ip_prefix local{};  ///< ours, with the length of its network
    bool peer = false;  ///< the network is the other end's
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

/// One way of a route.
struct hop {
    uint32_t interface = 0;           ///< 0: none
    std::optional<ip_address> via{};  ///< none: what is on the link
    uint16_t weight = 1;              ///< 1 to 256; of groups of next hops to 65536
    uint8_t flags = 0;                ///< RTNH_F_*
    bool operator==(const hop&) const = default;
};

struct route {
    bool gone = false;
    bool appended = false;  ///< behind others of its prefix and metric (NLM_F_APPEND)
    ip_prefix to{};
    uint32_t table = 0;
    uint8_t protocol = 0, scope = 0, type = 0, tos = 0;  ///< RTPROT_*, RT_SCOPE_*, RTN_*
    uint32_t flags = 0;                                  ///< RTM_F_*
    uint32_t metric = 0;
    uint32_t next_hop = 0;    ///< the identifier of a next-hop object; 0: none
    std::vector<hop> hops{};  ///< of several: each with its weight
    bool operator==(const route&) const = default;
};

/// A next-hop object: one way, or a group of others.
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
    hop way{};
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

/// The end of an answer. code: 0, or a positive errno value.
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
    uint32_t sequence = 0;     ///< of the request that it answers; 0: nobody asked
    bool interrupted = false;  ///< what is told changed meanwhile (NLM_F_DUMP_INTR): ask again
    content what{};
    bool operator==(const message&) const = default;
};

}  // namespace turnpike::netlink
