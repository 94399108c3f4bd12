// SPDX-License-Identifier: BSD-3-Clause
// Messages of the kernel, and the RIB that takes them.
#pragma once

#include "sources/netlink_rib.hpp"

#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

namespace turnpike::sources {

using netlink::message;
using state::route_target;
using state::route_type;

inline ip_prefix prefix_of(const char* text) { return *parse_prefix(text); }
inline ip_address address_of(const char* text) { return *parse_address(text); }

constexpr uint32_t west = 2, east = 3, lo = 1, management = 9;

struct route_event {
    const char* to;
    const char* via = nullptr;
    uint32_t by = west;
    uint32_t metric = 0;
    uint8_t protocol = RTPROT_BGP, type = RTN_UNICAST;
    uint32_t table = RT_TABLE_MAIN;
    uint16_t how = NLM_F_CREATE | NLM_F_EXCL;
};
/// NLM_F_* of a notification after `ip route replace`.
constexpr uint16_t replace = NLM_F_REPLACE;
inline message route_of(const route_event& s, bool gone = false) {
    netlink::route r{.gone = gone,
                     .how = s.how,
                     .to = prefix_of(s.to),
                     .from = {{.v6 = prefix_of(s.to).address.v6}, 0},
                     .table = s.table,
                     .protocol = s.protocol,
                     .type = s.type,
                     .metric = s.metric};
    if (s.via != nullptr || s.by != 0)
        r.nexthops.push_back(
            {.interface = s.by,
             .via = s.via != nullptr ? std::optional(address_of(s.via)) : std::nullopt});
    return {.what = r, .listed = (s.how & NLM_F_MULTI) != 0};
}
inline message gone(const route_event& s) { return route_of(s, true); }

class netlink_rib_test : public testing::Test {
  protected:
    void receive(const message& m) {
        rib_.apply(m);
        rib_.settle();
    }
    void receive(const route_event& s) { receive(route_of(s)); }
    const route_target* find(const char* to, const char* vrf = "") {
        const state::learned& known = rib_.learned();
        if (*vrf == 0) return known.routes.find(prefix_of(to));
        const auto at = known.vrf_routes.find(vrf);
        return at == known.vrf_routes.end() ? nullptr : at->second.find(prefix_of(to));
    }
    std::string via(const char* to, const char* vrf = "") {
        const route_target* t = find(to, vrf);
        std::string out;
        if (t != nullptr)
            for (const auto& m : t->members) {
                out += (out.empty() ? "" : ", ") + (m.via ? m.via->text() : "link") + " " +
                       m.interface;
                if (m.weight != 1) out += " " + std::to_string(m.weight);
            }
        return t == nullptr ? "none" : out;
    }
    netlink_rib rib_{{.interfaces = {{west, "west"}, {east, "east"}}, .vrfs = {{10, "red"}}}};
};

}  // namespace turnpike::sources
