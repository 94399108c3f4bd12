// SPDX-License-Identifier: BSD-3-Clause
// State learned from the kernel: the active route of a prefix, our interfaces, and objects that
// the operator's configuration overrides.
#include "sources/netlink_rib.hpp"

#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <random>

namespace turnpike::sources {
namespace {

using netlink::message;
using state::route_target;
using state::route_type;

ip_prefix prefix_of(const char* text) { return *parse_prefix(text); }
ip_address address_of(const char* text) { return *parse_address(text); }

constexpr uint32_t west = 2, east = 3, lo = 1, management = 9;

struct said {
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
message route_of(const said& s, bool gone = false) {
    netlink::route r{.gone = gone,
                     .how = s.how,
                     .to = prefix_of(s.to),
                     .from = {{.v6 = prefix_of(s.to).address.v6}, 0},
                     .table = s.table,
                     .protocol = s.protocol,
                     .type = s.type,
                     .metric = s.metric};
    if (s.via != nullptr || s.by != 0)
        r.hops.push_back(
            {.interface = s.by,
             .via = s.via != nullptr ? std::optional(address_of(s.via)) : std::nullopt});
    return {.what = r};
}
message gone(const said& s) { return route_of(s, true); }

class kernel_mirror_test : public testing::Test {
  protected:
    void say(const message& m) {
        mirror_.take(m);
        mirror_.settle();
    }
    void say(const said& s) { say(route_of(s)); }
    const route_target* find(const char* to, const char* vrf = "") {
        const state::learned& known = mirror_.learned();
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
    netlink_rib mirror_{{.interfaces = {{west, "west"}, {east, "east"}}, .vrfs = {{10, "red"}}}};
};

TEST_F(kernel_mirror_test, routes_come_change_and_go) {
    say({.to = "10.5.0.0/16", .via = "10.0.1.2", .metric = 20});
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.2 west");
    EXPECT_EQ(find("10.5.0.0/16")->protocol, RTPROT_BGP);
    EXPECT_EQ(find("10.5.0.0/16")->metric, 20U);
    EXPECT_TRUE(mirror_.take_changed());
    say({.to = "10.5.0.0/16", .via = "10.0.1.2", .metric = 20});
    EXPECT_FALSE(mirror_.take_changed());
    say({.to = "10.5.0.0/16", .via = "10.0.2.2", .by = east, .metric = 20, .how = replace});
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.2.2 east");
    EXPECT_TRUE(mirror_.take_changed()) << "another next hop";
    say(gone({.to = "10.5.0.0/16", .via = "10.0.2.2", .by = east, .metric = 20}));
    EXPECT_EQ(via("10.5.0.0/16"), "none");
    EXPECT_TRUE(mirror_.take_changed());
    EXPECT_FALSE(mirror_.is_doubtful());
}

TEST_F(kernel_mirror_test, what_is_no_route_of_ours_is_passed_over) {
    say({.to = "10.1.0.0/16", .via = "10.0.1.2", .table = 1000});
    say({.to = "10.2.0.0/16", .via = "192.0.2.1", .by = management});
    say({.to = "10.0.1.0/24", .protocol = RTPROT_KERNEL});
    say({.to = "10.0.1.1/32",
         .protocol = RTPROT_KERNEL,
         .type = RTN_LOCAL,
         .table = RT_TABLE_LOCAL});
    EXPECT_EQ(find("10.2.0.0/16")->type, route_type::not_followed) << "no shorter prefix counts";
    EXPECT_EQ(mirror_.learned().routes.size(), 1U);
    EXPECT_EQ(mirror_.others(), 1U);
    // A route that moves to an interface outside of turnpike becomes the kernel's.
    say({.to = "10.3.0.0/16", .via = "10.0.1.2"});
    say({.to = "10.3.0.0/16", .via = "192.0.2.1", .by = management, .how = replace});
    EXPECT_EQ(find("10.3.0.0/16")->type, route_type::not_followed);
    EXPECT_EQ(mirror_.others(), 2U);
    say(gone({.to = "10.3.0.0/16", .via = "192.0.2.1", .by = management}));
    EXPECT_EQ(mirror_.others(), 1U);
}

TEST_F(kernel_mirror_test, routes_without_a_gateway_are_the_links) {
    say({.to = "10.9.0.0/24"});
    say({.to = "2001:db8:9::/64", .by = east});
    EXPECT_EQ(via("10.9.0.0/24"), "link west");
    EXPECT_EQ(via("2001:db8:9::/64"), "link east");
    // Routes that the kernel derives from addresses are ignored, and so are multicast and
    // link-local prefixes.
    say({.to = "10.0.1.0/24", .protocol = RTPROT_KERNEL});
    say({.to = "224.0.0.0/4"});
    say({.to = "fe80::/64"});
    EXPECT_EQ(mirror_.learned().routes.size(), 2U);
    // In a multipath route, only next hops with a gateway are used.
    auto several = route_of({.to = "10.8.0.0/24", .by = 0});
    std::get<netlink::route>(several.what).hops = {
        {.interface = west}, {.interface = east, .via = address_of("10.0.2.2")}};
    say(several);
    EXPECT_EQ(via("10.8.0.0/24"), "10.0.2.2 east");
    say(gone({.to = "10.9.0.0/24"}));
    EXPECT_EQ(via("10.9.0.0/24"), "none");
    say({.what = netlink::link{.index = east, .up = false}});
    EXPECT_EQ(via("2001:db8:9::/64"), "none") << "also with skip_notify_on_dev_down";
}

TEST_F(kernel_mirror_test, tables_of_vrfs) {
    say({.to = "10.5.0.0/16", .via = "10.0.1.2"});
    say({.to = "10.5.0.0/16", .via = "10.0.2.2", .by = east, .metric = 20, .table = 10});
    say({.to = "10.5.0.0/16", .via = "10.0.2.3", .by = east, .metric = 10, .table = 10});
    say({.to = "10.6.0.0/16", .via = "10.0.2.3", .by = east, .table = 11});
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.2 west");
    EXPECT_EQ(via("10.5.0.0/16", "red"), "10.0.2.3 east");
    EXPECT_EQ(mirror_.learned().vrf_routes.size(), 1U);
    say(gone({.to = "10.5.0.0/16", .via = "10.0.2.3", .by = east, .metric = 10, .table = 10}));
    EXPECT_EQ(via("10.5.0.0/16", "red"), "10.0.2.2 east");
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.2 west");
    say({.to = "10.7.0.0/16", .via = "192.0.2.1", .by = management, .table = 10});
    EXPECT_EQ(mirror_.others(), 1U);
    // When an interface goes down, its routes are removed from all tables; when a VRF is removed,
    // from its table.
    say({.to = "10.8.0.0/16", .via = "10.0.1.2", .table = 10});
    say({.what = netlink::link{.index = west, .up = false}});
    EXPECT_EQ(via("10.5.0.0/16"), "none");
    EXPECT_EQ(via("10.8.0.0/16", "red"), "none");
    mirror_.set_ours({.interfaces = {{west, "west"}, {east, "east"}}, .vrfs = {{10, "blue"}}});
    EXPECT_EQ(via("10.5.0.0/16", "red"), "none");
    EXPECT_EQ(mirror_.others(), 0U);
    say({.to = "10.5.0.0/16", .via = "10.0.2.2", .by = east, .table = 10});
    EXPECT_EQ(via("10.5.0.0/16", "blue"), "10.0.2.2 east");
}

TEST_F(kernel_mirror_test, types) {
    say({.to = "192.0.2.0/24", .by = 0, .type = RTN_BLACKHOLE});
    say({.to = "2001:db8:1::/48", .by = lo, .type = RTN_UNREACHABLE});
    say({.to = "198.51.100.0/24", .by = 0, .type = RTN_PROHIBIT});
    EXPECT_EQ(find("192.0.2.0/24")->type, route_type::blackhole);
    EXPECT_EQ(find("2001:db8:1::/48")->type, route_type::unreachable);
    EXPECT_EQ(find("198.51.100.0/24")->type, route_type::prohibit);
}

/// Against a plain list of all routes: the lowest metric wins.
TEST_F(kernel_mirror_test, of_several_the_lowest_metric_counts) {
    std::minstd_rand random(7);
    std::map<std::string, std::map<uint32_t, std::string>> plain;
    const char* const to[] = {"10.1.0.0/16", "10.2.0.0/16", "2001:db8:1::/48"};
    const char* const gateways[] = {"10.0.1.2", "10.0.1.3", "2001:db8::2", "2001:db8::3"};
    for (unsigned n = 0; n < 3000; ++n) {
        const size_t which = random() % 3;
        const uint32_t metric = random() % 4 * 10;
        const char* gateway = gateways[(which == 2 ? 2 : 0) + random() % 2];
        auto& there = plain[to[which]];
        if (random() % 2 == 0) {
            say({.to = to[which], .via = gateway, .metric = metric, .how = replace});
            there[metric] = gateway;
        } else if (const auto at = there.find(metric); at != there.end()) {
            say(gone({.to = to[which], .via = at->second.c_str(), .metric = metric}));
            there.erase(at);
        }
        ASSERT_EQ(via(to[which]), there.empty() ? "none" : there.begin()->second + " west") << n;
    }
    EXPECT_FALSE(mirror_.is_doubtful());
}

message address(uint32_t by, const char* text, bool goes = false,
                uint32_t flags = IFA_F_PERMANENT) {
    return {.what = netlink::address{
                .gone = goes, .interface = by, .local = prefix_of(text), .flags = flags}};
}

TEST_F(kernel_mirror_test, addresses_of_ours_and_of_loopbacks) {
    say(address(west, "10.0.1.1/24"));
    say(address(west, "fe80::1/64"));
    say(address(lo, "127.0.0.1/8"));
    say(address(lo, "::1/128"));
    say(address(lo, "10.255.0.1/32"));
    EXPECT_EQ(mirror_.learned().addresses.at("west"), std::vector{prefix_of("10.0.1.1/24")});
    EXPECT_EQ(mirror_.learned().addresses.size(), 1U);
    EXPECT_EQ(mirror_.learned().routes.size(), 1U);
    EXPECT_EQ(find("10.255.0.1/32")->type, route_type::local);
    // An interface that turnpike adopts brings its addresses along.
    mirror_.set_ours({.interfaces = {{west, "west"}, {lo, "loop"}}, .vrfs = {{10, "red"}}});
    EXPECT_EQ(mirror_.learned().addresses.at("loop"), std::vector{prefix_of("10.255.0.1/32")});
    EXPECT_TRUE(mirror_.learned().routes.empty());
    say(address(west, "10.0.1.1/24", true));
    EXPECT_FALSE(mirror_.learned().addresses.contains("west"));
    EXPECT_FALSE(mirror_.is_doubtful());
}

/// RFC 4862 section 4: routers do not configure themselves by advertisements. Any host of the link
/// sends those, and redirects.
TEST_F(kernel_mirror_test, addresses_with_a_lifetime_are_not_followed) {
    constexpr uint32_t by_advertisement = IFA_F_MANAGETEMPADDR | IFA_F_NOPREFIXROUTE;
    say(address(west, "2001:db8:beef:1::7/64", false, by_advertisement));
    say(address(west, "10.0.1.9/24", false, 0));  // DHCP's
    say(address(lo, "10.255.0.1/32", false, 0));
    EXPECT_FALSE(mirror_.take_changed());
    EXPECT_TRUE(mirror_.learned().addresses.empty());
    EXPECT_TRUE(mirror_.learned().routes.empty());
    // An address that gets a lifetime is no longer followed; one without lifetime is.
    say(address(west, "10.0.1.1/24"));
    say(address(west, "10.0.1.1/24", false, 0));
    EXPECT_TRUE(mirror_.learned().addresses.empty());
    say(address(west, "10.0.1.9/24"));
    EXPECT_EQ(mirror_.learned().addresses.at("west"), std::vector{prefix_of("10.0.1.9/24")});
    // RTM_DELADDR of IPv6 has the flags that the address had.
    say(address(west, "10.0.1.9/24", true, 0));
    EXPECT_TRUE(mirror_.learned().addresses.empty());
}

TEST_F(kernel_mirror_test, routes_of_advertisements_and_redirects_are_not_followed) {
    for (const uint8_t protocol : {uint8_t{RTPROT_RA}, uint8_t{RTPROT_REDIRECT}}) {
        const said hosts{.to = "::/0", .via = "fe80::bad", .metric = 1024, .protocol = protocol};
        say(hosts);
        EXPECT_EQ(via("::/0"), "none") << int{protocol};
        // The same with a routing daemon's route of the same prefix and metric.
        say({.to = "::/0", .via = "fe80::1", .by = east, .metric = 1024});
        auto beside = route_of(hosts);
        std::get<netlink::route>(beside.what).how = NLM_F_CREATE;
        say(beside);
        EXPECT_EQ(via("::/0"), "fe80::1 east") << int{protocol};
        say(gone(hosts));
        EXPECT_EQ(via("::/0"), "fe80::1 east") << int{protocol};
        say(gone({.to = "::/0", .via = "fe80::1", .by = east, .metric = 1024}));
    }
    EXPECT_EQ(mirror_.others(), 0U);
    EXPECT_FALSE(mirror_.is_doubtful());
}

/// The kernel sends no notification for IPv4 routes that are removed with their interface.
TEST_F(kernel_mirror_test, a_link_that_goes_takes_its_routes_along) {
    say({.to = "10.1.0.0/16", .via = "10.0.1.2", .metric = 20});
    say({.to = "10.1.0.0/16", .via = "10.0.2.2", .by = east, .metric = 30});
    say({.to = "10.2.0.0/16", .via = "10.0.1.2"});
    say({.to = "2001:db8:1::/48", .via = "fe80::1"});
    const auto link = [](bool up, bool goes) {
        return message{.what = netlink::link{.gone = goes,
                                             .index = west,
                                             .name = "west",
                                             .up = up,
                                             .carrier = up,
                                             .running = up}};
    };
    say(link(true, false));
    EXPECT_EQ(mirror_.learned().routes.size(), 3U);
    say(link(false, false));
    EXPECT_EQ(via("10.1.0.0/16"), "10.0.2.2 east");
    EXPECT_EQ(via("10.2.0.0/16"), "none");
    EXPECT_EQ(via("2001:db8:1::/48"), "none");
    say(link(false, true));
    EXPECT_EQ(mirror_.learned().routes.size(), 1U);
}

TEST_F(kernel_mirror_test, next_hop_objects) {
    const auto hop = [](uint32_t id, const char* via_address, bool goes = false) {
        return message{
            .what = netlink::next_hop{.gone = goes,
                                      .id = id,
                                      .path = {.interface = west, .via = address_of(via_address)}}};
    };
    say(hop(7, "10.0.1.7"));
    say(hop(17, "10.0.1.17"));
    say({.what = netlink::next_hop{.id = 70, .group = {{7, 1}, {17, 3}}}});
    // As with net.ipv4.nexthop_compat_mode=0: only the object is named.
    say({.what = netlink::route{.to = prefix_of("10.7.0.0/16"),
                                .table = RT_TABLE_MAIN,
                                .protocol = RTPROT_BGP,
                                .type = RTN_UNICAST,
                                .next_hop = 7}});
    EXPECT_EQ(via("10.7.0.0/16"), "10.0.1.7 west");
    say({.what = netlink::route{.to = prefix_of("10.70.0.0/16"),
                                .table = RT_TABLE_MAIN,
                                .protocol = RTPROT_BGP,
                                .type = RTN_UNICAST,
                                .next_hop = 70}});
    EXPECT_EQ(via("10.70.0.0/16"), "10.0.1.7 west, 10.0.1.17 west 3");
    say(hop(8, "10.0.1.8"));
    say(hop(8, "10.0.1.8", true));
    // The kernel removes the object's routes without notifications, and the object from its groups.
    say(hop(7, "10.0.1.7", true));
    EXPECT_EQ(via("10.7.0.0/16"), "none");
    EXPECT_EQ(via("10.70.0.0/16"), "10.0.1.17 west");
    say(hop(17, "10.0.1.18"));
    EXPECT_EQ(via("10.70.0.0/16"), "10.0.1.18 west") << "as with nexthop_compat_mode=0";
    // Without carrier the object goes, with its group and the group's routes, and nothing is notified.
    say({.what = netlink::link{.index = west, .up = true, .carrier = false}});
    EXPECT_EQ(via("10.70.0.0/16"), "none");
    EXPECT_TRUE(mirror_.learned().routes.empty());
    EXPECT_FALSE(mirror_.is_doubtful());
}

TEST_F(kernel_mirror_test, of_several_ways_those_that_are_ours_and_alive_share) {
    netlink::route r{.to = prefix_of("10.7.0.0/16"), .table = RT_TABLE_MAIN, .type = RTN_UNICAST};
    r.hops = {{.interface = west, .via = address_of("10.0.1.9"), .flags = RTNH_F_DEAD},
              {.interface = east, .via = address_of("10.0.2.2"), .weight = 5},
              {.interface = management, .via = address_of("192.0.2.1")},
              {.interface = west, .via = address_of("10.0.1.2"), .flags = RTNH_F_LINKDOWN}};
    say({.what = r});
    EXPECT_EQ(via("10.7.0.0/16"), "10.0.1.2 west, 10.0.2.2 east 5");
    // When an interface goes down, its next hops leave the group.
    say({.what = netlink::link{.index = east, .name = "east"}});
    EXPECT_EQ(via("10.7.0.0/16"), "10.0.1.2 west");
    // A single next hop of an IPv6 route may be removed.
    netlink::route v6{.to = prefix_of("2001:db8:7::/48"),
                      .table = RT_TABLE_MAIN,
                      .type = RTN_UNICAST,
                      .metric = 20};
    v6.hops = {{.interface = west, .via = address_of("fe80::2")},
               {.interface = west, .via = address_of("fe80::3")}};
    say({.what = v6});
    EXPECT_EQ(via("2001:db8:7::/48"), "fe80::2 west, fe80::3 west");
    say(gone({.to = "2001:db8:7::/48", .via = "fe80::2", .metric = 20}));
    EXPECT_EQ(via("2001:db8:7::/48"), "fe80::3 west");
    say(gone({.to = "2001:db8:7::/48", .via = "fe80::3", .metric = 20}));
    EXPECT_EQ(via("2001:db8:7::/48"), "none");
    EXPECT_FALSE(mirror_.is_doubtful());
}

/// fib_table_insert(): prepended (CREATE), appended, replaced; the first of a prefix and metric counts.
TEST_F(kernel_mirror_test, several_ipv4_routes_of_a_metric) {
    const auto with = [](const char* gateway, uint16_t how, uint32_t metric = 20) {
        return said{.to = "10.5.0.0/16", .via = gateway, .metric = metric, .how = how};
    };
    say(with("10.0.1.2", NLM_F_CREATE | NLM_F_EXCL));
    say(with("10.0.1.3", NLM_F_CREATE | NLM_F_APPEND));
    say(with("10.0.1.4", NLM_F_CREATE));
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.4 west");
    say(gone(with("10.0.1.4", 0)));
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.2 west");
    say(with("10.0.1.5", NLM_F_REPLACE));
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.5 west");
    say(with("10.0.1.9", NLM_F_CREATE | NLM_F_EXCL, 10));
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.9 west");
    say(gone(with("10.0.1.9", 0, 10)));
    say(gone(with("10.0.1.5", 0)));
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.3 west");
    say(gone(with("10.0.1.3", 0)));
    EXPECT_EQ(via("10.5.0.0/16"), "none");
    EXPECT_FALSE(mirror_.is_doubtful());
    // A dump lists them in the kernel's order.
    say(with("10.0.1.7", NLM_F_MULTI));
    say(with("10.0.1.6", NLM_F_MULTI));
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.7 west");
    // One was notified before its part of the dump.
    say(with("10.0.1.7", NLM_F_MULTI));
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.6 west");
}

/// A path of a multipath route whose metric does not count.
TEST_F(kernel_mirror_test, ipv6_paths_of_a_worse_metric) {
    say({.to = "2001:db8:9::/48", .via = "2001:db8:1::2", .metric = 10});
    auto two = route_of({.to = "2001:db8:9::/48", .by = 0, .metric = 20});
    std::get<netlink::route>(two.what).hops = {
        {.interface = east, .via = address_of("2001:db8:2::2")},
        {.interface = east, .via = address_of("2001:db8:2::3")}};
    say(two);
    say(gone({.to = "2001:db8:9::/48", .via = "2001:db8:2::2", .by = east, .metric = 20}));
    EXPECT_EQ(via("2001:db8:9::/48"), "2001:db8:1::2 west");
    say(gone({.to = "2001:db8:9::/48", .via = "2001:db8:1::2", .metric = 10}));
    EXPECT_EQ(via("2001:db8:9::/48"), "2001:db8:2::3 east");
}

/// The message of a path that joins a multipath route has all paths.
TEST_F(kernel_mirror_test, ipv6_paths_join_and_routes_of_links_do_not) {
    say({.to = "2001:db8:9::/48", .via = "fe80::2"});
    auto joined = route_of({.to = "2001:db8:9::/48", .by = 0, .how = NLM_F_CREATE});
    std::get<netlink::route>(joined.what).hops = {
        {.interface = west, .via = address_of("fe80::3")},
        {.interface = west, .via = address_of("fe80::2")}};
    say(joined);
    EXPECT_EQ(via("2001:db8:9::/48"), "fe80::2 west, fe80::3 west");
    say({.to = "2001:db8:9::/48", .by = east, .how = NLM_F_CREATE | NLM_F_APPEND});
    EXPECT_EQ(via("2001:db8:9::/48"), "fe80::2 west, fe80::3 west");
    say({.to = "2001:db8:9::/48", .via = "fe80::4", .how = replace});
    EXPECT_EQ(via("2001:db8:9::/48"), "fe80::4 west");
    say(gone({.to = "2001:db8:9::/48", .via = "fe80::4"}));
    EXPECT_EQ(via("2001:db8:9::/48"), "link east");
    EXPECT_FALSE(mirror_.is_doubtful());
    // `ip -6 route replace` with several next hops is notified as if it were added.
    joined = route_of({.to = "2001:db8:9::/48", .by = 0, .how = NLM_F_CREATE});
    std::get<netlink::route>(joined.what).hops = {
        {.interface = west, .via = address_of("fe80::3")},
        {.interface = west, .via = address_of("fe80::2")}};
    say(joined);
    EXPECT_TRUE(mirror_.is_doubtful()) << "the route of the link may be gone";
}

/// A source-specific route is no route of all sources, and its end is not theirs.
TEST_F(kernel_mirror_test, source_specific_routes) {
    say({.to = "::/0", .via = "2001:db8:2::2", .by = east, .metric = 1024});
    auto specific = route_of({.to = "::/0", .via = "2001:db8:1::9", .metric = 1024});
    std::get<netlink::route>(specific.what).from = prefix_of("2001:db8:1::/64");
    say(specific);
    EXPECT_EQ(via("::/0"), "2001:db8:2::2 east");
    std::get<netlink::route>(specific.what).gone = true;
    say(specific);
    EXPECT_EQ(via("::/0"), "2001:db8:2::2 east");
    // The kernel looks at no other routes of a prefix that has a source-specific one, unless it is the default.
    say({.to = "2001:db8:9::/48", .via = "2001:db8:2::2", .by = east});
    std::get<netlink::route>(specific.what).gone = false;
    std::get<netlink::route>(specific.what).to = prefix_of("2001:db8:9::/48");
    say(specific);
    EXPECT_EQ(find("2001:db8:9::/48")->type, route_type::not_followed);
    const auto listed = mirror_.list_not_followed(10);
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0].to, prefix_of("2001:db8:9::/48"));
    EXPECT_EQ(listed[0].why, not_followed::source_prefix);
}

TEST_F(kernel_mirror_test, routes_that_turnpike_cannot_forward_by_drop) {
    auto tunnel = route_of({.to = "10.9.0.0/16", .via = "10.0.1.2"});
    std::get<netlink::route>(tunnel.what).hops[0].encap = 7;
    say(tunnel);
    auto tos = route_of({.to = "10.10.0.0/16", .via = "10.0.1.2"});
    std::get<netlink::route>(tos.what).tos = 16;
    say(tos);
    EXPECT_EQ(find("10.9.0.0/16")->type, route_type::not_followed);
    EXPECT_EQ(find("10.10.0.0/16")->type, route_type::not_followed);
    say({.to = "10.10.0.0/16", .via = "10.0.1.3", .metric = 50});
    EXPECT_EQ(via("10.10.0.0/16"), "10.0.1.3 west") << "packets of other TOS have a route";
    const auto counts = mirror_.count_not_followed();
    EXPECT_EQ(counts[static_cast<size_t>(not_followed::encapsulation)], 1U);
    EXPECT_EQ(mirror_.others(), 1U);
}

TEST_F(kernel_mirror_test, mtus_of_routes) {
    const auto set = [&](const char* to, const char* via, uint32_t mtu) {
        auto m = route_of({.to = to, .via = via, .how = replace});
        std::get<netlink::route>(m.what).mtu = mtu;
        say(m);
        return find(to)->mtu;
    };
    EXPECT_EQ(set("10.9.0.0/16", "10.0.1.2", 1400), 1400);
    EXPECT_EQ(set("10.9.0.0/16", "10.0.1.2", 20), 68) << "RFC 791 section 3.2";
    EXPECT_EQ(set("10.9.0.0/16", "10.0.1.2", 70000), 0);
    EXPECT_EQ(set("10.9.0.0/16", nullptr, 1400), 0) << "on-link";
    EXPECT_EQ(set("10.9.0.0/16", "10.0.1.2", 0), 0);
    EXPECT_EQ(set("2001:db8::/32", "fe80::2", 1400), 1400);
    EXPECT_EQ(set("2001:db8::/32", "fe80::2", 1000), 1280) << "RFC 8200 section 5";
}

/// RTN_THROW ends the lookup in its table.
TEST_F(kernel_mirror_test, throw_and_local_routes) {
    say({.to = "10.0.0.0/8", .via = "10.0.1.2"});
    say({.to = "10.9.0.0/16", .via = "10.0.1.3"});
    say({.to = "10.9.0.0/16", .by = 0, .type = RTN_THROW, .how = replace});
    EXPECT_EQ(find("10.9.0.0/16")->type, route_type::unreachable);
    say({.to = "192.0.2.0/24", .by = lo, .protocol = RTPROT_BOOT, .type = RTN_LOCAL});
    EXPECT_EQ(find("192.0.2.0/24")->type, route_type::local);
    const said any{.to = "198.51.100.0/24",
                   .by = lo,
                   .protocol = RTPROT_BOOT,
                   .type = RTN_LOCAL,
                   .table = RT_TABLE_LOCAL};
    say(any);
    EXPECT_EQ(find("198.51.100.0/24")->type, route_type::local);
    say(gone(any));
    EXPECT_EQ(find("198.51.100.0/24"), nullptr);
}

/// Linux fib6_add_rt2node(): a replacement does not look for an equal route (rib-differential, seed 16).
TEST_F(kernel_mirror_test, ipv6_replaces_the_first_route_also_with_one_that_exists) {
    const said hole{.to = "2001:db8::/32", .by = 0, .metric = 100, .type = RTN_BLACKHOLE},
        linked{
            .to = "2001:db8::/32", .by = east, .metric = 100, .how = NLM_F_CREATE | NLM_F_APPEND};
    say(hole);
    say(linked);
    ASSERT_NE(find("2001:db8::/32"), nullptr);
    EXPECT_EQ(find("2001:db8::/32")->type, route_type::blackhole);
    auto again = linked;
    again.how = replace;
    say(again);
    EXPECT_EQ(find("2001:db8::/32")->type, route_type::unicast);
    EXPECT_EQ(via("2001:db8::/32"), "link east");
    // The kernel now has it twice.
    say(gone(linked));
    EXPECT_EQ(via("2001:db8::/32"), "link east");
    say(gone(linked));
    EXPECT_EQ(via("2001:db8::/32"), "none");
}

/// fib6_rt_update() notifies like a replacement, but the routes of a replaced object remain in their order
/// (rib-differential, seeds 2 and 3).
TEST_F(kernel_mirror_test, ipv6_routes_stay_in_order_when_their_object_is_replaced) {
    say({.to = "2001:db8::/32", .by = 0, .metric = 100, .type = RTN_BLACKHOLE});
    message object{.sequence = 7,
                   .what = netlink::next_hop{.id = 6, .path = {.interface = west}},
                   .requester = 4321};
    say(object);
    const auto by_object = [&](uint32_t sequence, uint16_t how) {
        message m = route_of({.to = "2001:db8::/32", .by = west, .metric = 100, .how = how});
        std::get<netlink::route>(m.what).next_hop = 6;
        m.sequence = sequence;
        m.requester = 4321;
        return m;
    };
    say(by_object(8, NLM_F_CREATE | NLM_F_APPEND));
    std::get<netlink::next_hop>(object.what).path.interface = east;
    object.sequence = 9;
    say(object);
    say(by_object(9, NLM_F_REPLACE));
    ASSERT_NE(find("2001:db8::/32"), nullptr);
    EXPECT_EQ(find("2001:db8::/32")->type, route_type::blackhole);
    say(by_object(10, NLM_F_REPLACE));  // `ip -6 route replace`
    EXPECT_EQ(find("2001:db8::/32")->type, route_type::unicast);
    EXPECT_EQ(via("2001:db8::/32"), "link east");
}

TEST_F(kernel_mirror_test, weights_keep_their_ratio) {
    for (const uint32_t id : {7U, 17U})
        say({.what = netlink::next_hop{
                 .id = id,
                 .path = {.interface = west, .via = ip_address::from_v4(0x0a000100 + id)}}});
    say({.what = netlink::next_hop{.id = 70, .group = {{7, 1000}, {17, 500}}}});
    auto by_group = route_of({.to = "10.70.0.0/16", .by = 0});
    std::get<netlink::route>(by_group.what).next_hop = 70;
    say(by_group);
    EXPECT_EQ(via("10.70.0.0/16"), "10.0.1.7 west 256, 10.0.1.17 west 128");
    say({.what = netlink::next_hop{.id = 70, .group = {{7, 65535}, {17, 1}}}});
    EXPECT_EQ(via("10.70.0.0/16"), "10.0.1.7 west 256, 10.0.1.17 west");
}

/// fib_sync_down_dev() and fib_sync_up(): paths of an interface that is down wait, without notifications.
TEST_F(kernel_mirror_test, paths_die_and_come_back_with_their_interface) {
    for (const char* const to : {"10.7.0.0/16", "2001:db8:7::/48"}) {
        auto two = route_of({.to = to, .by = 0});
        const bool v6 = std::get<netlink::route>(two.what).to.address.v6;
        std::get<netlink::route>(two.what).hops = {
            {.interface = west, .via = address_of(v6 ? "fe80::2" : "10.0.1.2")},
            {.interface = east, .via = address_of(v6 ? "fe80::3" : "10.0.2.2")}};
        say(two);
    }
    const auto link = [](uint32_t by, bool up) {
        return message{.what = netlink::link{.index = by, .up = up, .carrier = up, .running = up}};
    };
    say(link(east, false));
    EXPECT_EQ(via("10.7.0.0/16"), "10.0.1.2 west");
    EXPECT_EQ(via("2001:db8:7::/48"), "fe80::2 west");
    say(link(east, true));
    EXPECT_EQ(via("10.7.0.0/16"), "10.0.1.2 west, 10.0.2.2 east");
    EXPECT_EQ(via("2001:db8:7::/48"), "fe80::2 west, fe80::3 east");
    say(link(east, false));
    say(link(west, false));
    EXPECT_TRUE(mirror_.learned().routes.empty());
    say(link(east, true));
    EXPECT_TRUE(mirror_.learned().routes.empty()) << "the kernel removed them";
}

TEST_F(kernel_mirror_test, routes_of_addresses_that_go) {
    say(address(west, "10.0.1.1/24"));
    say(address(east, "10.0.2.1/24"));
    auto from = route_of({.to = "10.5.0.0/16", .via = "10.0.2.2", .by = east});
    std::get<netlink::route>(from.what).source = address_of("10.0.1.1");
    say(from);
    say({.to = "10.6.0.0/16", .via = "10.0.1.2"});
    say({.to = "10.7.0.0/16", .via = "10.0.2.2", .by = east});
    // fib_disable_ip(): an interface without addresses has no routes. fib_sync_down_addr(): a source address.
    say(address(west, "10.0.1.1/24", true));
    EXPECT_EQ(via("10.5.0.0/16"), "none");
    EXPECT_EQ(via("10.6.0.0/16"), "none");
    EXPECT_EQ(via("10.7.0.0/16"), "10.0.2.2 east");
    EXPECT_FALSE(mirror_.is_doubtful());
}

TEST_F(kernel_mirror_test, addresses_without_a_network) {
    say(address(west, "10.0.7.1/24", false, IFA_F_PERMANENT | IFA_F_NOPREFIXROUTE));
    EXPECT_EQ(mirror_.learned().addresses.at("west"), std::vector{prefix_of("10.0.7.1/32")});
    say(address(west, "10.0.7.1/24"));
    EXPECT_EQ(mirror_.learned().addresses.at("west"), std::vector{prefix_of("10.0.7.1/24")});
    say(address(west, "10.0.7.1/24", true, 0));
    EXPECT_TRUE(mirror_.learned().addresses.empty());
}

TEST_F(kernel_mirror_test, permanent_neighbours) {
    const auto neighbour = [](const char* at, uint16_t state, uint8_t flags = 0, uint32_t on = west,
                              const char* mac = "02:00:00:00:00:0e") {
        return message{.what = netlink::neighbour{.interface = on,
                                                  .at = address_of(at),
                                                  .mac = *parse_mac(mac),
                                                  .state = state,
                                                  .flags = flags}};
    };
    const auto& known = mirror_.learned().neighbours;
    say(neighbour("10.0.1.5", NUD_REACHABLE));
    say(neighbour("10.0.1.5", NUD_PERMANENT, NTF_EXT_LEARNED));
    say(neighbour("10.0.1.5", NUD_PERMANENT, 0, west, "01:00:5e:00:00:01"));
    say(neighbour("10.0.1.5", NUD_PERMANENT, 0, management));
    say(neighbour("ff02::1", NUD_PERMANENT));
    EXPECT_TRUE(known.empty());
    EXPECT_FALSE(mirror_.take_changed());
    say(neighbour("10.0.1.5", NUD_PERMANENT));
    say(neighbour("2001:db8:1::5", NUD_PERMANENT, 0, east));
    EXPECT_EQ(known.at({"west", address_of("10.0.1.5")}).text(), "02:00:00:00:00:0e");
    EXPECT_EQ(known.size(), 2U);
    EXPECT_TRUE(mirror_.take_changed());
    say(neighbour("10.0.1.5", NUD_PERMANENT));
    EXPECT_FALSE(mirror_.take_changed());
    say(neighbour("10.0.1.5", NUD_PERMANENT, 0, west, "02:00:00:00:00:0f"));
    EXPECT_EQ(known.at({"west", address_of("10.0.1.5")}).text(), "02:00:00:00:00:0f");
    // From now on the entry is resolved by solicitation.
    say(neighbour("10.0.1.5", NUD_STALE));
    EXPECT_EQ(known.size(), 1U);
    EXPECT_TRUE(mirror_.take_changed());
    // Entries are removed and added with their interface.
    mirror_.set_ours({.interfaces = {{west, "west"}, {management, "far"}}, .vrfs = {}});
    EXPECT_EQ(known.size(), 1U);
    EXPECT_TRUE(known.contains({"far", address_of("10.0.1.5")}));
    say({.what = netlink::link{.gone = true, .index = management}});
    EXPECT_TRUE(known.empty());
}

TEST(protocol_names, are_the_kernels) {
    EXPECT_EQ(protocol_name(RTPROT_BGP), "bgp");
    EXPECT_EQ(protocol_name(RTPROT_OSPF), "ospf");
    EXPECT_EQ(protocol_name(RTPROT_BIRD), "bird");
    EXPECT_EQ(protocol_name(RTPROT_STATIC), "static");
    EXPECT_EQ(protocol_name(77), "77");
}

}  // namespace
}  // namespace turnpike::sources
