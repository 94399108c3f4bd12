// SPDX-License-Identifier: BSD-3-Clause
// State learned from the kernel: the active route of a prefix, our interfaces, and objects that
// the operator's configuration overrides.
#include "sources/netlink_rib.hpp"

#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <random>

#include "complaints.hpp"
#include "sources/yaml.hpp"
#include "sources/yaml_writer.hpp"
#include "state/changes.hpp"

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
};
message route_of(const said& s, bool gone = false) {
    netlink::route r{.gone = gone,
                     .to = prefix_of(s.to),
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
    void say(const message& m) { mirror_.take(m); }
    void say(const said& s) { mirror_.take(route_of(s)); }
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
    say({.to = "10.5.0.0/16", .via = "10.0.2.2", .by = east, .metric = 20});
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.2.2 east");
    say(gone({.to = "10.5.0.0/16", .via = "10.0.2.2", .by = east, .metric = 20}));
    EXPECT_EQ(via("10.5.0.0/16"), "none");
    EXPECT_TRUE(mirror_.take_changed());
    EXPECT_FALSE(mirror_.is_doubtful());
}

TEST_F(kernel_mirror_test, what_is_no_route_of_ours_is_passed_over) {
    say({.to = "10.1.0.0/16", .via = "10.0.1.2", .table = 1000});
    say({.to = "10.2.0.0/16", .via = "192.0.2.1", .by = management});
    say({.to = "10.0.1.0/24", .protocol = RTPROT_KERNEL});
    say({.to = "10.0.1.1/32", .type = RTN_LOCAL, .table = RT_TABLE_LOCAL});
    EXPECT_TRUE(mirror_.learned().routes.empty());
    EXPECT_EQ(mirror_.others(), 1U);
    // A route that moves to an interface outside of turnpike becomes the kernel's.
    say({.to = "10.3.0.0/16", .via = "10.0.1.2"});
    say({.to = "10.3.0.0/16", .via = "192.0.2.1", .by = management});
    EXPECT_EQ(via("10.3.0.0/16"), "none");
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
    EXPECT_EQ(via("2001:db8:9::/64"), "link east") << "of IPv6 the kernel says it";
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
            say({.to = to[which], .via = gateway, .metric = metric});
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
    EXPECT_TRUE(mirror_.is_doubtful());  // routes from it went without a word
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
        say(hosts);
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
        return message{.what =
                           netlink::link{.gone = goes, .index = west, .name = "west", .up = up}};
    };
    say(link(true, false));
    EXPECT_EQ(mirror_.learned().routes.size(), 3U);
    say(link(false, false));
    EXPECT_EQ(via("10.1.0.0/16"), "10.0.2.2 east");
    EXPECT_EQ(via("10.2.0.0/16"), "none");
    EXPECT_EQ(via("2001:db8:1::/48"), "fe80::1 west");
    say(link(false, true));
    EXPECT_EQ(via("2001:db8:1::/48"), "none");
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
    EXPECT_FALSE(mirror_.is_doubtful());
    say(hop(7, "10.0.1.7", true));
    EXPECT_TRUE(mirror_.is_doubtful());
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

/// A second IPv4 route of the same metric waits until the first is removed, for which the kernel
/// sends no notification.
TEST_F(kernel_mirror_test, appended_ones) {
    say({.to = "10.5.0.0/16", .via = "10.0.1.2"});
    auto second = route_of({.to = "10.5.0.0/16", .via = "10.0.1.3"});
    std::get<netlink::route>(second.what).appended = true;
    say(second);
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.2 west");
    EXPECT_FALSE(mirror_.is_doubtful());
    say(gone({.to = "10.5.0.0/16", .via = "10.0.1.2"}));
    EXPECT_TRUE(mirror_.is_doubtful());
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

constexpr const char* operators = R"(
control_plane: {netlink: true, namespace: box, rate: 500}
ports:
  - {name: west, device: d0, addresses: [10.0.1.1/24], host_interface: true}
  - {name: east, device: d1, addresses: [10.0.2.1/24], host_interface: true}
  - {name: south, device: d2, addresses: [10.0.3.1/24]}
)";

TEST(learned, the_operators_word_counts) {
    auto read =
        load_text(std::string(operators) +
                      "neighbours: {static: [{address: 10.0.1.3, mac: \"02:00:00:00:00:03\"}]}\n",
                  "a.yaml");
    ASSERT_TRUE(read) << read.error().message();
    const auto says = std::make_shared<const state::configuration>(std::move(*read));
    state::learned l;
    EXPECT_EQ(with_learned(says, l), says);
    const auto lead = [](const char* by, const char* via) {
        return route_target{.members = {{address_of(via), by}}, .protocol = RTPROT_BGP};
    };
    l.routes.set(prefix_of("10.5.0.0/16"), lead("west", "10.0.1.2"));
    l.routes.set(prefix_of("10.6.0.0/16"),
                 lead("south", "10.0.3.2"));  // the kernel has no such interface
    l.routes.set(prefix_of("10.7.0.0/16"), lead("west", "10.0.1.1"));  // ourselves
    l.addresses["west"] = {prefix_of("10.0.1.1/24"), prefix_of("10.0.1.9/24"),
                           prefix_of("10.0.4.1/24"),
                           prefix_of("10.0.3.7/24")};  // it is south's network
    l.addresses["south"] = {prefix_of("10.0.9.1/24")};
    const auto fixed = [&](const char* on, const char* at) {
        l.neighbours.emplace(state::neighbour_name{on, address_of(at)},
                             *parse_mac("02:00:00:00:00:0e"));
    };
    fixed("west", "10.0.1.2");
    fixed("west", "10.0.1.3");   // the operator's own
    fixed("west", "10.0.1.1");   // ourselves
    fixed("south", "10.0.3.2");  // no interface of the kernel's
    const auto both = with_learned(says, l);
    EXPECT_EQ(both->learned.size(), 1U);
    EXPECT_NE(both->learned.find(prefix_of("10.5.0.0/16")), nullptr);
    EXPECT_EQ(both->interfaces.at("west").addresses,
              (std::vector{prefix_of("10.0.1.1/24"), prefix_of("10.0.1.9/24"),
                           prefix_of("10.0.4.1/24")}));
    EXPECT_EQ(both->interfaces.at("south").addresses, std::vector{prefix_of("10.0.3.1/24")});
    ASSERT_EQ(both->learned_neighbours.size(), 1U);
    EXPECT_EQ(both->learned_neighbours.begin()->first.address, address_of("10.0.1.2"));
    EXPECT_TRUE(says->learned.empty());
    EXPECT_EQ(says->interfaces.at("west").addresses.size(), 1U);
}

TEST(learned, routes_go_to_their_vrfs) {
    auto read = load_text("vrfs: [{name: red, table: 10}]\n" +
                              replaced(operators, "[10.0.1.1/24]", "[10.0.1.1/24], vrf: red"),
                          "a.yaml");
    ASSERT_TRUE(read) << read.error().message();
    const auto says = std::make_shared<const state::configuration>(std::move(*read));
    state::learned l;
    auto& red = l.vrf_routes["red"];
    red.set(prefix_of("10.5.0.0/16"), state::target_via(address_of("10.0.1.2"), "west"));
    red.set(prefix_of("10.6.0.0/16"), state::target_via(address_of("10.0.2.2"), "east"));
    red.set(prefix_of("10.7.0.0/16"), state::target_on_link("west"));
    red.set(prefix_of("10.8.0.0/16"), state::target_on_link("east"));  // another VRF's
    l.vrf_routes["blue"] = red;                                        // not there
    l.addresses["west"] = {prefix_of("10.0.2.7/24")};  // east's network, but of another VRF
    const auto both = with_learned(says, l);
    EXPECT_EQ(both->learned_of("red").size(), 3U);
    EXPECT_EQ(both->learned_of("red").find(prefix_of("10.8.0.0/16")), nullptr);
    EXPECT_EQ(both->learned_routes(), 3U);
    EXPECT_TRUE(both->learned.empty());
    EXPECT_EQ(both->interfaces.at("west").addresses.back(), prefix_of("10.0.2.7/24"));
    const auto what = state::diff(*says, *both);
    ASSERT_TRUE(what);
    EXPECT_EQ(what->learned_count(), 3U);
    EXPECT_EQ(what->vrf_learned.at("red").set.size(), 3U);
    EXPECT_FALSE(what->empty());
}

TEST(control_plane, is_read_written_and_refused) {
    const std::string text = operators;
    const auto read = load_text(text, "f.yaml");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->control_plane.network_namespace, "box");
    EXPECT_EQ(read->control_plane.rate, 500U);
    const auto again = load_text(to_yaml(*read), "again");
    ASSERT_TRUE(again) << again.error().message() << to_yaml(*read);
    EXPECT_TRUE(again->control_plane == read->control_plane);
    EXPECT_TRUE(again->interfaces == read->interfaces);
    EXPECT_FALSE(again->interfaces.at("south").host_interface);

    const auto with = [&](const char* before, const char* after) {
        return complaint_about(replaced(text, before, after));
    };
    EXPECT_EQ(with("netlink: true", "netlink: false"),
              "f.yaml:4: port 'west' has host_interface: true, which needs control_plane: "
              "{netlink: true}");
    EXPECT_EQ(with("namespace: box", "namespace: a/b"),
              "f.yaml:2: control_plane.namespace should be a name as `ip netns add` takes it");
    EXPECT_EQ(with("netlink: true, ", ""), "f.yaml:2: control_plane lacks the key 'netlink'");
    EXPECT_EQ(
        with("name: west", "name: west-of-the-moon"),
        "f.yaml:4: 'west-of-the-moon' cannot be the name of a kernel interface: it has at most 15 "
        "characters, none of \"/: %\", and is not a reserved name");
    EXPECT_EQ(complaint_about(text + "xconnects: [[west, south]]\n").substr(0, 9), "f.yaml:4:");
    EXPECT_EQ(with("addresses: [10.0.3.1/24]", "addresses: [10.0.3.1/24], router_alert: true"),
              "f.yaml:6: port 'south' has router_alert: true, which needs host_interface: true");
    // Unnumbered: its addresses are the kernel's.
    EXPECT_EQ(with("addresses: [10.0.1.1/24], host_interface: true", "host_interface: true"),
              "none");
    EXPECT_NE(with("addresses: [10.0.1.1/24], host_interface: true", "host_interface: false"),
              "none");
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
