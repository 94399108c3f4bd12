// SPDX-License-Identifier: BSD-3-Clause
// Classes of punted packets. Each class has a rate of its own per ingress interface (punt_policer.hpp), so that packets
// of one class, or of one interface, cannot starve others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

// clang-format off: a class is a line. name, default rate per second, meaning
#define TURNPIKE_PUNT_CLASSES(X)                                                                 \
    X(routing, 20000,                                                                            \
      "for us, from nodes on the link: IS-IS, OSPF, BFD, VRRP, PIM, RIP, LDP, EIGRP, Babel, "    \
      "IGMP, BGP with TTL 255")                                                                  \
    X(sessions, 20000,                                                                           \
      "for us, from any node: BGP, LDP, multihop BFD, RSVP, unicast messages of OSPF, RIP, PIM") \
    X(local, 10000, "for us: all other protocols")                                               \
    X(neighbours, 10000, "ARP and neighbour discovery, except replies")                          \
    X(replies, 10000, "ARP replies to us, solicited neighbour advertisements")                   \
    X(icmp_error, 10000, "dropped, and the source is to get an ICMP error")                      \
    X(too_big, 10000, "dropped, and the source is to get a Packet Too Big")                      \
    X(resolve, 10000, "the neighbour's MAC address is unknown")                                  \
    X(other, 1000,                                                                               \
      "LLDP, CDP, `host_pass`, Router Alert in transit, redirects, reserved group addresses of " \
      "bridges")
// clang-format on

namespace turnpike::datapath {

enum class punt_class : uint8_t {
#define TURNPIKE_PUNT_CLASS(name, rate, meaning) name,
    TURNPIKE_PUNT_CLASSES(TURNPIKE_PUNT_CLASS)
#undef TURNPIKE_PUNT_CLASS
        count_
};
inline constexpr size_t punt_classes = static_cast<size_t>(punt_class::count_);

struct punt_class_text {
    std::string_view name;
    uint32_t rate;  ///< default, packets per second
    std::string_view meaning;
};
inline constexpr punt_class_text punt_class_texts[] = {
#define TURNPIKE_PUNT_CLASS(name, rate, meaning) {#name, rate, meaning},
    TURNPIKE_PUNT_CLASSES(TURNPIKE_PUNT_CLASS)
#undef TURNPIKE_PUNT_CLASS
};
static_assert(std::size(punt_class_texts) == punt_classes);

}  // namespace turnpike::datapath
