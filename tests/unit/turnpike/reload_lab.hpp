// SPDX-License-Identifier: BSD-3-Clause
// A router with two ports and a changing configuration.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "lib/path_lab.hpp"

namespace turnpike::test {

/// Two routed ports, and whatever else.
inline std::string router(const std::string& routes = "", const std::string& more = "",
                          const std::string& west = "10.0.1.254/24",
                          const std::string& ports = "") {
    return "ports:\n  - {name: west, device: d0, addresses: [" + west +
           "]}\n"
           "  - {name: east, device: d1, addresses: [10.0.2.254/24, \"2001:db8:2::fe/64\"]}\n" +
           ports + "routes: [" + routes + "]\n" +
           "neighbours:\n  max_entries: 64\n  static:\n"
           "    - {address: 10.0.2.2, mac: \"02:00:00:00:00:0d\"}\n" +
           more;
}

inline byte_vector datagram(uint32_t destination) {
    return ethernet(0x0800, ipv4({.destination = destination}, udp(counted(4))),
                    {2, 0, 0, 0, 0, 0x0b}, {2, 0, 0, 0, 0, 0x0a});
}

class lab : public running_lab {
  public:
    using running_lab::running_lab;
    /// The egress port of a packet to that address; none: dropped.
    std::optional<uint16_t> egress_port(const char* to, uint16_t from = 0) {
        EXPECT_TRUE(offer(from, datagram(parse_address(to)->v4())));
        settle();
        std::optional<uint16_t> out;
        for (uint16_t p = 0; p < ends_.size(); ++p) {
            const auto frames = sent(p);
            if (p != from && !frames.empty()) out = p;
        }
        return out;
    }
    /// Applies a configuration, and discards the announcements that follow.
    result<state::changes> apply(const std::string& configuration) {
        auto applied = path_lab::apply(configuration);
        settle();
        for (uint16_t p = 0; p < ends_.size(); ++p) sent(p);
        return applied;
    }
    size_t last() const { return ends_.size() - 1; }
    /// The last port was closed.
    void forget_last() {
        sent(static_cast<uint16_t>(last()));
        ends_.pop_back();
    }
};

}  // namespace turnpike::test
