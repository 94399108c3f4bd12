// SPDX-License-Identifier: BSD-3-Clause
// State learned from the kernel: routes, addresses, neighbours and interfaces that come, change and go.
#include <linux/if_addr.h>
#include <linux/neighbour.h>

#include <chrono>
#include <random>

#include "netlink_rib_lab.hpp"

namespace turnpike::sources {
namespace {

TEST_F(netlink_rib_test, routes_come_change_and_go) {
    receive({.to = "10.5.0.0/16", .via = "10.0.1.2", .metric = 20});
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.2 west");
    EXPECT_EQ(find("10.5.0.0/16")->protocol, RTPROT_BGP);
    EXPECT_EQ(find("10.5.0.0/16")->metric, 20U);
    EXPECT_TRUE(rib_.consume_changed());
    receive({.to = "10.5.0.0/16", .via = "10.0.1.2", .metric = 20});
    EXPECT_FALSE(rib_.consume_changed());
    receive({.to = "10.5.0.0/16", .via = "10.0.2.2", .by = east, .metric = 20, .how = replace});
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.2.2 east");
    EXPECT_TRUE(rib_.consume_changed()) << "another next hop";
    receive(gone({.to = "10.5.0.0/16", .via = "10.0.2.2", .by = east, .metric = 20}));
    EXPECT_EQ(via("10.5.0.0/16"), "none");
    EXPECT_TRUE(rib_.consume_changed());
    EXPECT_FALSE(rib_.is_doubtful());
}

TEST_F(netlink_rib_test, what_is_no_route_of_ours_is_passed_over) {
    receive({.to = "10.1.0.0/16", .via = "10.0.1.2", .table = 1000});
    receive({.to = "10.2.0.0/16", .via = "192.0.2.1", .by = management});
    receive({.to = "10.0.1.0/24", .protocol = RTPROT_KERNEL});
    receive({.to = "10.0.1.1/32",
             .protocol = RTPROT_KERNEL,
             .type = RTN_LOCAL,
             .table = RT_TABLE_LOCAL});
    EXPECT_EQ(find("10.2.0.0/16")->type, route_type::not_followed) << "no shorter prefix counts";
    EXPECT_EQ(rib_.learned().routes.size(), 1U);
    EXPECT_EQ(rib_.others(), 1U);
    // A route that moves to an interface outside of turnpike becomes the kernel's.
    receive({.to = "10.3.0.0/16", .via = "10.0.1.2"});
    receive({.to = "10.3.0.0/16", .via = "192.0.2.1", .by = management, .how = replace});
    EXPECT_EQ(find("10.3.0.0/16")->type, route_type::not_followed);
    EXPECT_EQ(rib_.others(), 2U);
    receive(gone({.to = "10.3.0.0/16", .via = "192.0.2.1", .by = management}));
    EXPECT_EQ(rib_.others(), 1U);
}

TEST_F(netlink_rib_test, routes_without_a_gateway_are_the_links) {
    receive({.to = "10.9.0.0/24"});
    receive({.to = "2001:db8:9::/64", .by = east});
    EXPECT_EQ(via("10.9.0.0/24"), "link west");
    EXPECT_EQ(via("2001:db8:9::/64"), "link east");
    // Routes that the kernel derives from addresses are ignored, and so are multicast and
    // link-local prefixes.
    receive({.to = "10.0.1.0/24", .protocol = RTPROT_KERNEL});
    receive({.to = "224.0.0.0/4"});
    receive({.to = "fe80::/64"});
    EXPECT_EQ(rib_.learned().routes.size(), 2U);
    // In a multipath route, only next hops with a gateway are used.
    auto several = route_of({.to = "10.8.0.0/24", .by = 0});
    std::get<netlink::route>(several.what).nexthops = {
        {.interface = west}, {.interface = east, .via = address_of("10.0.2.2")}};
    receive(several);
    EXPECT_EQ(via("10.8.0.0/24"), "10.0.2.2 east");
    receive(gone({.to = "10.9.0.0/24"}));
    EXPECT_EQ(via("10.9.0.0/24"), "none");
    receive({.what = netlink::link{.index = east, .up = false}});
    EXPECT_EQ(via("2001:db8:9::/64"), "none") << "also with skip_notify_on_dev_down";
}

TEST_F(netlink_rib_test, tables_of_vrfs) {
    receive({.to = "10.5.0.0/16", .via = "10.0.1.2"});
    receive({.to = "10.5.0.0/16", .via = "10.0.2.2", .by = east, .metric = 20, .table = 10});
    receive({.to = "10.5.0.0/16", .via = "10.0.2.3", .by = east, .metric = 10, .table = 10});
    receive({.to = "10.6.0.0/16", .via = "10.0.2.3", .by = east, .table = 11});
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.2 west");
    EXPECT_EQ(via("10.5.0.0/16", "red"), "10.0.2.3 east");
    EXPECT_EQ(rib_.learned().vrf_routes.size(), 1U);
    receive(gone({.to = "10.5.0.0/16", .via = "10.0.2.3", .by = east, .metric = 10, .table = 10}));
    EXPECT_EQ(via("10.5.0.0/16", "red"), "10.0.2.2 east");
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.2 west");
    receive({.to = "10.7.0.0/16", .via = "192.0.2.1", .by = management, .table = 10});
    EXPECT_EQ(rib_.others(), 1U);
    // When an interface goes down, its routes are removed from all tables; when a VRF is removed,
    // from its table.
    receive({.to = "10.8.0.0/16", .via = "10.0.1.2", .table = 10});
    receive({.what = netlink::link{.index = west, .up = false}});
    EXPECT_EQ(via("10.5.0.0/16"), "none");
    EXPECT_EQ(via("10.8.0.0/16", "red"), "none");
    rib_.set_ours({.interfaces = {{west, "west"}, {east, "east"}}, .vrfs = {{10, "blue"}}});
    EXPECT_EQ(via("10.5.0.0/16", "red"), "none");
    EXPECT_EQ(rib_.others(), 0U);
    receive({.to = "10.5.0.0/16", .via = "10.0.2.2", .by = east, .table = 10});
    EXPECT_EQ(via("10.5.0.0/16", "blue"), "10.0.2.2 east");
}

TEST_F(netlink_rib_test, types) {
    receive({.to = "192.0.2.0/24", .by = 0, .type = RTN_BLACKHOLE});
    receive({.to = "2001:db8:1::/48", .by = lo, .type = RTN_UNREACHABLE});
    receive({.to = "198.51.100.0/24", .by = 0, .type = RTN_PROHIBIT});
    EXPECT_EQ(find("192.0.2.0/24")->type, route_type::blackhole);
    EXPECT_EQ(find("2001:db8:1::/48")->type, route_type::unreachable);
    EXPECT_EQ(find("198.51.100.0/24")->type, route_type::prohibit);
}

message address(uint32_t by, const char* text, bool goes = false,
                uint32_t flags = IFA_F_PERMANENT) {
    return {.what = netlink::address{
                .gone = goes, .interface = by, .local = prefix_of(text), .flags = flags}};
}

TEST_F(netlink_rib_test, addresses_of_ours_and_of_loopbacks) {
    receive(address(west, "10.0.1.1/24"));
    receive(address(west, "fe80::1/64"));
    receive(address(lo, "127.0.0.1/8"));
    receive(address(lo, "::1/128"));
    receive(address(lo, "10.255.0.1/32"));
    EXPECT_EQ(rib_.learned().addresses.at("west"), std::vector{prefix_of("10.0.1.1/24")});
    EXPECT_EQ(rib_.learned().addresses.size(), 1U);
    EXPECT_EQ(rib_.learned().routes.size(), 1U);
    EXPECT_EQ(find("10.255.0.1/32")->type, route_type::local);
    // An interface that turnpike adopts brings its addresses along.
    rib_.set_ours({.interfaces = {{west, "west"}, {lo, "loop"}}, .vrfs = {{10, "red"}}});
    EXPECT_EQ(rib_.learned().addresses.at("loop"), std::vector{prefix_of("10.255.0.1/32")});
    EXPECT_TRUE(rib_.learned().routes.empty());
    receive(address(west, "10.0.1.1/24", true));
    EXPECT_FALSE(rib_.learned().addresses.contains("west"));
    EXPECT_FALSE(rib_.is_doubtful());
}

/// RFC 4862 section 4: routers do not configure themselves by advertisements. Any host of the link
/// sends those, and redirects.
/// As of NAT or anycast: quadratic costs would be half a minute.
TEST_F(netlink_rib_test, thousands_of_addresses) {
    constexpr uint32_t addresses = 4000;
    const auto begun = std::chrono::steady_clock::now();
    for (uint32_t n = 0; n < addresses; ++n)
        rib_.apply({.what = netlink::address{.interface = west,
                                             .local = {ip_address::from_v4(0x6440'0000 + n), 32},
                                             .flags = IFA_F_PERMANENT}});
    rib_.settle();
    EXPECT_EQ(rib_.learned().addresses.at("west").size(), addresses);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

/// addrconf_dad_begin(): an address with IFA_F_NODAD is not probed for.
TEST_F(netlink_rib_test, addresses_without_detection_are_known) {
    receive(address(west, "2001:db8:1::1/64"));
    receive(address(west, "2001:db8:1::9/128", false, IFA_F_PERMANENT | IFA_F_NODAD));
    const state::neighbour_name virtual_one{.interface = "west",
                                            .address = *parse_address("2001:db8:1::9")};
    EXPECT_EQ(rib_.learned().no_dad, std::set{virtual_one});
    receive(address(west, "2001:db8:1::9/128", false, IFA_F_PERMANENT));
    EXPECT_TRUE(rib_.learned().no_dad.empty());
    receive(address(west, "2001:db8:1::9/128", false, IFA_F_PERMANENT | IFA_F_NODAD));
    EXPECT_EQ(rib_.learned().no_dad, std::set{virtual_one});
    receive(address(west, "2001:db8:1::9/128", true, IFA_F_PERMANENT | IFA_F_NODAD));
    EXPECT_TRUE(rib_.learned().no_dad.empty());
    EXPECT_EQ(rib_.learned().addresses.at("west"), std::vector{prefix_of("2001:db8:1::1/64")});
}

TEST_F(netlink_rib_test, addresses_with_a_lifetime_are_not_followed) {
    constexpr uint32_t by_advertisement = IFA_F_MANAGETEMPADDR | IFA_F_NOPREFIXROUTE;
    receive(address(west, "2001:db8:beef:1::7/64", false, by_advertisement));
    receive(address(west, "10.0.1.9/24", false, 0));  // DHCP's
    receive(address(lo, "10.255.0.1/32", false, 0));
    EXPECT_FALSE(rib_.consume_changed());
    EXPECT_TRUE(rib_.learned().addresses.empty());
    EXPECT_TRUE(rib_.learned().routes.empty());
    // An address that gets a lifetime is no longer followed; one without lifetime is.
    receive(address(west, "10.0.1.1/24"));
    receive(address(west, "10.0.1.1/24", false, 0));
    EXPECT_TRUE(rib_.learned().addresses.empty());
    receive(address(west, "10.0.1.9/24"));
    EXPECT_EQ(rib_.learned().addresses.at("west"), std::vector{prefix_of("10.0.1.9/24")});
    // RTM_DELADDR of IPv6 has the flags that the address had.
    receive(address(west, "10.0.1.9/24", true, 0));
    EXPECT_TRUE(rib_.learned().addresses.empty());
}

/// Where the operator accepts advertisements: default routes by preference, prefixes and addresses with a lifetime.
TEST_F(netlink_rib_test, advertisements_are_followed_by_choice) {
    constexpr uint32_t by_advertisement = IFA_F_MANAGETEMPADDR | IFA_F_NOPREFIXROUTE;
    netlink_rib::followed ours{
        .interfaces = {{west, "west"}, {east, "east"}}, .vrfs = {{10, "red"}}, .accept_ra = {west}};
    const auto advertise = [&](uint32_t by) {
        receive(address(by, by == west ? "2001:db8:1::7/64" : "2001:db8:2::7/64", false,
                        by_advertisement));
        receive({.to = by == west ? "2001:db8:1::/64" : "2001:db8:2::/64",
                 .by = by,
                 .metric = 256,
                 .protocol = RTPROT_KERNEL});
        receive({.to = by == west ? "::/0" : "2001:db8:9::/48",
                 .via = "fe80::1",
                 .by = by,
                 .metric = 1024,
                 .protocol = RTPROT_RA});
    };
    receive(address(west, "10.0.1.9/24", false, 0));  // DHCP's
    rib_.set_ours(ours);
    for (const uint32_t by : {west, east}) advertise(by);
    EXPECT_EQ(via("::/0"), "fe80::1 west");
    EXPECT_EQ(via("2001:db8:1::/64"), "link west");
    EXPECT_EQ(via("2001:db8:2::/64"), "none");
    EXPECT_EQ(via("2001:db8:9::/48"), "none");
    EXPECT_EQ(rib_.learned().addresses,
              (decltype(state::learned::addresses){{"west", {prefix_of("2001:db8:1::7/128")}}}));
    ours.accept_ra.clear();
    rib_.set_ours(ours);
    EXPECT_EQ(via("::/0"), "none");
    EXPECT_EQ(via("2001:db8:1::/64"), "none");
    EXPECT_TRUE(rib_.learned().addresses.empty());
    receive(address(west, "2001:db8:1::7/64", false, by_advertisement));  // the next dump's
    EXPECT_TRUE(rib_.learned().addresses.empty());
}

/// ndisc_router_discovery(): the kernel notifies of a changed preference with NLM_F_REPLACE, and changes the router's own route.
TEST_F(netlink_rib_test, a_router_of_another_preference_replaces_no_other) {
    rib_.set_ours({.interfaces = {{west, "west"}}, .accept_ra = {west}});
    const auto advertised = [](const char* router, uint8_t preference, uint16_t how) {
        message m = route_of(
            {.to = "::/0", .via = router, .metric = 1024, .protocol = RTPROT_RA, .how = how});
        std::get<netlink::route>(m.what).preference = preference;
        return m;
    };
    constexpr uint8_t medium = 0, low = 3;
    receive(advertised("fe80::a", medium, NLM_F_CREATE | NLM_F_EXCL));
    receive(advertised("fe80::b", medium, NLM_F_CREATE));
    EXPECT_EQ(via("::/0"), "fe80::a west");
    receive(advertised("fe80::b", low, NLM_F_REPLACE));
    EXPECT_EQ(via("::/0"), "fe80::a west");
    receive(gone({.to = "::/0", .via = "fe80::a", .metric = 1024, .protocol = RTPROT_RA}));
    EXPECT_EQ(via("::/0"), "fe80::b west");
    message left = advertised("fe80::b", low, 0);
    std::get<netlink::route>(left.what).gone = true;
    receive(left);
    EXPECT_EQ(via("::/0"), "none");
    // A user's request replaces.
    receive(advertised("fe80::a", medium, NLM_F_CREATE | NLM_F_EXCL));
    message users = advertised("fe80::b", medium, NLM_F_REPLACE);
    users.requester = 77;
    receive(users);
    EXPECT_EQ(via("::/0"), "fe80::b west");
}

/// A network that a daemon adds is a route; where advertisements are accepted, it is one anyhow.
TEST_F(netlink_rib_test, a_daemon_s_network_stays_when_advertisements_are_no_longer_accepted) {
    netlink_rib::followed ours{.interfaces = {{west, "west"}}, .accept_ra = {west}};
    rib_.set_ours(ours);
    receive(address(west, "2001:db8:5::1/64", false, IFA_F_PERMANENT | IFA_F_NOPREFIXROUTE));
    receive({.to = "2001:db8:5::/64", .metric = 256, .protocol = RTPROT_KERNEL});
    receive(address(west, "2001:db8:6::1/64"));
    receive({.to = "2001:db8:6::/64", .metric = 256, .protocol = RTPROT_KERNEL});
    EXPECT_EQ(via("2001:db8:6::/64"), "link west");
    ours.accept_ra.clear();
    rib_.set_ours(ours);
    EXPECT_EQ(via("2001:db8:5::/64"), "link west");
    EXPECT_EQ(via("2001:db8:6::/64"), "none") << "it follows from the address";
    ours.accept_ra = {west};
    rib_.set_ours(ours);
    EXPECT_EQ(via("2001:db8:6::/64"), "link west");
}

TEST_F(netlink_rib_test, routes_of_advertisements_and_redirects_are_not_followed) {
    for (const uint8_t protocol : {uint8_t{RTPROT_RA}, uint8_t{RTPROT_REDIRECT}}) {
        const route_event hosts{
            .to = "::/0", .via = "fe80::bad", .metric = 1024, .protocol = protocol};
        receive(hosts);
        EXPECT_EQ(via("::/0"), "none") << int{protocol};
        // The same with a routing daemon's route of the same prefix and metric.
        receive({.to = "::/0", .via = "fe80::1", .by = east, .metric = 1024});
        auto beside = route_of(hosts);
        std::get<netlink::route>(beside.what).how = NLM_F_CREATE;
        receive(beside);
        EXPECT_EQ(via("::/0"), "fe80::1 east") << int{protocol};
        receive(gone(hosts));
        EXPECT_EQ(via("::/0"), "fe80::1 east") << int{protocol};
        receive(gone({.to = "::/0", .via = "fe80::1", .by = east, .metric = 1024}));
    }
    EXPECT_EQ(rib_.others(), 0U);
    EXPECT_FALSE(rib_.is_doubtful());
}

/// The kernel sends no notification for IPv4 routes that are removed with their interface.
TEST_F(netlink_rib_test, a_link_that_goes_takes_its_routes_along) {
    receive({.to = "10.1.0.0/16", .via = "10.0.1.2", .metric = 20});
    receive({.to = "10.1.0.0/16", .via = "10.0.2.2", .by = east, .metric = 30});
    receive({.to = "10.2.0.0/16", .via = "10.0.1.2"});
    receive({.to = "2001:db8:1::/48", .via = "fe80::1"});
    const auto link = [](bool up, bool goes) {
        return message{.what = netlink::link{.gone = goes,
                                             .index = west,
                                             .name = "west",
                                             .up = up,
                                             .carrier = up,
                                             .running = up}};
    };
    receive(link(true, false));
    EXPECT_EQ(rib_.learned().routes.size(), 3U);
    receive(link(false, false));
    EXPECT_EQ(via("10.1.0.0/16"), "10.0.2.2 east");
    EXPECT_EQ(via("10.2.0.0/16"), "none");
    EXPECT_EQ(via("2001:db8:1::/48"), "none");
    receive(link(false, true));
    EXPECT_EQ(rib_.learned().routes.size(), 1U);
}

TEST_F(netlink_rib_test, routes_that_turnpike_cannot_forward_by_drop) {
    auto tunnel = route_of({.to = "10.9.0.0/16", .via = "10.0.1.2"});
    std::get<netlink::route>(tunnel.what).nexthops[0].encap = 7;
    receive(tunnel);
    auto tos = route_of({.to = "10.10.0.0/16", .via = "10.0.1.2"});
    std::get<netlink::route>(tos.what).tos = 16;
    receive(tos);
    EXPECT_EQ(find("10.9.0.0/16")->type, route_type::not_followed);
    EXPECT_EQ(find("10.10.0.0/16")->type, route_type::not_followed);
    receive({.to = "10.10.0.0/16", .via = "10.0.1.3", .metric = 50});
    EXPECT_EQ(via("10.10.0.0/16"), "10.0.1.3 west") << "packets of other TOS have a route";
    const auto counts = rib_.count_not_followed();
    EXPECT_EQ(counts[static_cast<size_t>(not_followed::encapsulation)], 1U);
    EXPECT_EQ(rib_.others(), 1U);
}

TEST_F(netlink_rib_test, mtus_of_routes) {
    const auto set = [&](const char* to, const char* via, uint32_t mtu) {
        auto m = route_of({.to = to, .via = via, .how = replace});
        std::get<netlink::route>(m.what).mtu = mtu;
        receive(m);
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
TEST_F(netlink_rib_test, throw_and_local_routes) {
    receive({.to = "10.0.0.0/8", .via = "10.0.1.2"});
    receive({.to = "10.9.0.0/16", .via = "10.0.1.3"});
    receive({.to = "10.9.0.0/16", .by = 0, .type = RTN_THROW, .how = replace});
    EXPECT_EQ(find("10.9.0.0/16")->type, route_type::unreachable);
    receive({.to = "192.0.2.0/24", .by = lo, .protocol = RTPROT_BOOT, .type = RTN_LOCAL});
    EXPECT_EQ(find("192.0.2.0/24")->type, route_type::local);
    const route_event any{.to = "198.51.100.0/24",
                          .by = lo,
                          .protocol = RTPROT_BOOT,
                          .type = RTN_LOCAL,
                          .table = RT_TABLE_LOCAL};
    receive(any);
    EXPECT_EQ(find("198.51.100.0/24")->type, route_type::local);
    receive(gone(any));
    EXPECT_EQ(find("198.51.100.0/24"), nullptr);
}

TEST_F(netlink_rib_test, routes_of_addresses_that_go) {
    receive(address(west, "10.0.1.1/24"));
    receive(address(east, "10.0.2.1/24"));
    auto from = route_of({.to = "10.5.0.0/16", .via = "10.0.2.2", .by = east});
    std::get<netlink::route>(from.what).source = address_of("10.0.1.1");
    receive(from);
    receive({.to = "10.6.0.0/16", .via = "10.0.1.2"});
    receive({.to = "10.7.0.0/16", .via = "10.0.2.2", .by = east});
    // fib_disable_ip(): an interface without addresses has no routes. fib_sync_down_addr(): a source address.
    receive(address(west, "10.0.1.1/24", true));
    EXPECT_EQ(via("10.5.0.0/16"), "none");
    EXPECT_EQ(via("10.6.0.0/16"), "none");
    EXPECT_EQ(via("10.7.0.0/16"), "10.0.2.2 east");
    EXPECT_FALSE(rib_.is_doubtful());
}

/// inet_addr_type_dev_table(): a source address in a local network (AnyIP) stays one without its address.
TEST_F(netlink_rib_test, routes_from_a_local_network) {
    const auto from = [](const char* to, uint32_t table) {
        message m = route_of({.to = to, .via = "10.0.2.2", .by = east, .table = table});
        std::get<netlink::route>(m.what).source = address_of("192.0.2.1");
        return m;
    };
    receive(address(east, "10.0.2.1/24"));
    receive(address(lo, "127.0.0.1/8"));
    receive(address(lo, "192.0.2.1/32"));
    route_event local{.to = "192.0.2.0/24",
                      .by = lo,
                      .protocol = RTPROT_BOOT,
                      .type = RTN_LOCAL,
                      .table = RT_TABLE_LOCAL};
    receive(local);
    receive(from("10.5.0.0/16", RT_TABLE_MAIN));
    receive(address(lo, "192.0.2.1/32", true));
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.2.2 east");
    receive(address(lo, "192.0.2.1/32"));
    receive(gone(local));
    receive(address(lo, "192.0.2.1/32", true));
    EXPECT_EQ(via("10.5.0.0/16"), "none");
    // On a loopback, an address's whole network is local, and goes after the address.
    local.protocol = RTPROT_KERNEL;
    receive(address(lo, "192.0.2.1/24"));
    receive(local);
    ASSERT_NE(find("192.0.2.0/24"), nullptr);
    EXPECT_EQ(find("192.0.2.0/24")->type, route_type::local);
    receive(from("10.5.0.0/16", RT_TABLE_MAIN));
    receive(address(lo, "192.0.2.1/24", true));
    EXPECT_EQ(via("10.5.0.0/16"), "none");
    receive(gone(local));
    EXPECT_EQ(find("192.0.2.0/24"), nullptr);
}

/// fib_del_ifaddr(): which local routes the kernel removes with an address of a loopback.
TEST_F(netlink_rib_test, local_networks_that_stay_without_an_address) {
    const auto address_with = [](uint32_t flags, bool gone) {
        message m = address(lo, "192.0.2.9/24", gone);
        std::get<netlink::address>(m.what).flags |= flags;
        return m;
    };
    route_event network{.to = "192.0.2.0/24", .by = lo, .type = RTN_LOCAL, .table = RT_TABLE_LOCAL};
    message from = route_of({.to = "10.5.0.0/16", .via = "10.0.2.2", .by = east});
    std::get<netlink::route>(from.what).source = address_of("192.0.2.9");
    struct test_case {
        const char* why;
        uint32_t flags;
        uint8_t protocol;
        const char* left;
    };
    for (const test_case& c : {test_case{"its own", 0, RTPROT_KERNEL, "none"},
                               {"the primary's", IFA_F_SECONDARY, RTPROT_KERNEL, "10.0.2.2 east"},
                               {"none", IFA_F_NOPREFIXROUTE, RTPROT_KERNEL, "10.0.2.2 east"},
                               {"the operator's", 0, RTPROT_STATIC, "10.0.2.2 east"}}) {
        network.protocol = c.protocol;
        receive(address(east, "10.0.2.1/24"));
        receive(address(lo, "127.0.0.1/8"));
        receive(address_with(c.flags, false));
        receive(network);
        receive(from);
        receive(address_with(c.flags, true));
        EXPECT_EQ(via("10.5.0.0/16"), c.left) << c.why;
        receive(gone(network));
    }
}

message link_of(uint32_t index, uint32_t master, uint32_t vrf_table) {
    return {.what = netlink::link{.index = index,
                                  .up = true,
                                  .carrier = true,
                                  .running = true,
                                  .master = master,
                                  .vrf_table = vrf_table}};
}

/// l3mdev_fib_table(): an address that goes takes along the routes with it as source address, in the table of its interface's VRF.
TEST_F(netlink_rib_test, routes_of_addresses_that_go_from_a_vrf) {
    constexpr uint32_t red = 8;
    const auto from = [](const char* to, uint32_t table) {
        message m = route_of({.to = to, .via = "10.0.2.2", .by = east, .table = table});
        std::get<netlink::route>(m.what).source = address_of("10.0.1.1");
        return m;
    };
    receive(link_of(red, 0, 10));
    receive(link_of(west, red, 0));
    receive(link_of(east, 0, 0));
    receive(address(west, "10.0.1.1/24"));
    receive(address(west, "10.0.3.1/24"));
    receive(address(east, "10.0.2.1/24"));
    receive(from("10.5.0.0/16", RT_TABLE_MAIN));
    receive(from("10.6.0.0/16", 10));
    receive(address(red, "10.0.1.1/32"));
    receive(address(west, "10.0.1.1/24", true));
    EXPECT_EQ(via("10.6.0.0/16", "red"), "10.0.2.2 east") << "the VRF device has it, too";
    receive(address(east, "10.0.1.1/32"));
    receive(address(red, "10.0.1.1/32", true));
    EXPECT_EQ(via("10.6.0.0/16", "red"), "none");
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.2.2 east");
    receive(address(east, "10.0.1.1/32", true));
    EXPECT_EQ(via("10.5.0.0/16"), "none");
}

TEST_F(netlink_rib_test, routes_from_a_local_network_of_a_vrf) {
    constexpr uint32_t red = 8;
    receive(link_of(red, 0, 10));
    receive(link_of(west, red, 0));
    receive(address(west, "10.0.1.1/24"));
    receive(address(red, "192.0.2.1/32"));
    receive(address(red, "198.51.100.1/32"));
    route_event local{.to = "192.0.2.0/24", .by = red, .type = RTN_LOCAL, .table = 10};
    receive(local);
    const route_event own{
        .to = "192.0.2.1/32", .by = red, .protocol = RTPROT_KERNEL, .type = RTN_LOCAL, .table = 10};
    receive(own);
    message m = route_of({.to = "10.5.0.0/16", .via = "10.0.1.2", .table = 10});
    std::get<netlink::route>(m.what).source = address_of("192.0.2.1");
    receive(m);
    receive(address(red, "192.0.2.1/32", true));
    receive(gone(own));
    EXPECT_EQ(via("10.5.0.0/16", "red"), "10.0.1.2 west");
    // The longest prefix of the VRF's only table counts.
    receive({.to = "192.0.2.0/28", .via = "10.0.1.2", .table = 10});
    receive(address(red, "192.0.2.1/32"));
    receive(address(red, "192.0.2.1/32", true));
    EXPECT_EQ(via("10.5.0.0/16", "red"), "none");
}

/// The kernel's local routes of an address are of its interface's VRF.
TEST_F(netlink_rib_test, addresses_of_vrf_devices_and_their_slaves_are_local_there) {
    constexpr uint32_t red = 18, mgmt = 19;
    const auto is_local = [&](const char* to, const char* vrf = "") {
        const route_target* const found = find(to, vrf);
        return found != nullptr && found->type == route_type::local;
    };
    receive(link_of(red, 0, 10));
    receive(address(red, "10.255.0.1/32"));
    EXPECT_TRUE(is_local("10.255.0.1/32", "red"));
    EXPECT_FALSE(is_local("10.255.0.1/32"));
    receive(link_of(management, 0, 0));
    receive(address(management, "192.0.2.10/24"));
    EXPECT_TRUE(is_local("192.0.2.10/32"));
    receive(link_of(mgmt, 0, 20));
    receive(link_of(management, mgmt, 0));
    EXPECT_FALSE(is_local("192.0.2.10/32")) << "of a VRF that turnpike does not have";
    receive(link_of(management, red, 0));
    EXPECT_TRUE(is_local("192.0.2.10/32", "red"));
    receive({.to = "192.0.2.10/32", .via = "10.0.2.2", .by = east});
    EXPECT_EQ(via("192.0.2.10/32"), "10.0.2.2 east");
    // turnpike's VRF is another one of the kernel's from now on.
    rib_.set_ours({.interfaces = {{west, "west"}, {east, "east"}}, .vrfs = {{20, "red"}}});
    EXPECT_FALSE(is_local("192.0.2.10/32", "red"));
    receive(link_of(management, mgmt, 0));
    EXPECT_TRUE(is_local("192.0.2.10/32", "red"));
    rib_.set_ours({.interfaces = {{west, "west"}, {east, "east"}}, .vrfs = {{10, "red"}}});
    EXPECT_TRUE(is_local("10.255.0.1/32", "red"));
    EXPECT_FALSE(is_local("192.0.2.10/32", "red"));
    // The VRF device goes, and so the interface returns.
    receive(message{.what = netlink::link{.gone = true, .index = mgmt}});
    EXPECT_TRUE(is_local("192.0.2.10/32"));
    receive(address(management, "192.0.2.10/24", true));
    EXPECT_EQ(via("192.0.2.10/32"), "10.0.2.2 east");
    receive(address(red, "10.255.0.1/32", true));
    EXPECT_EQ(find("10.255.0.1/32", "red"), nullptr);
}

/// fib_sync_down_dev(), without notifications. As seen with Linux 6.18: an IPv4 route stays when its interface goes down, and goes
/// with the last IPv4 address of the interface, or with the interface.
TEST_F(netlink_rib_test, local_routes_of_interfaces_that_go) {
    const route_event route{
        .to = "198.51.100.0/24", .by = management, .type = RTN_LOCAL, .table = RT_TABLE_LOCAL};
    route_event other = route;
    other.metric = 7;
    const auto is_local = [&] { return find("198.51.100.0/24") != nullptr; };
    receive(address(management, "192.0.2.10/24"));
    receive(route);
    receive(other);
    receive(gone(route));
    EXPECT_TRUE(is_local()) << "one of two";
    receive(address(management, "192.0.2.10/24", true));
    EXPECT_FALSE(is_local());
    receive(address(management, "192.0.2.10/24"));
    receive(route);
    receive(message{.what = netlink::link{.index = management}});
    EXPECT_TRUE(is_local()) << "down";
    receive(message{.what = netlink::link{.gone = true, .index = management}});
    EXPECT_FALSE(is_local());
    // Another interface's route, in its place: one route.
    receive(route);
    other = {.to = "198.51.100.0/24",
             .by = 19,
             .type = RTN_LOCAL,
             .table = RT_TABLE_LOCAL,
             .how = replace};
    receive(other);
    receive(message{.what = netlink::link{.gone = true, .index = management}});
    EXPECT_TRUE(is_local());
    receive(gone(other));
    EXPECT_FALSE(is_local());
    // A dump without it.
    receive(route);
    EXPECT_TRUE(is_local());
    rib_.begin_part({netlink_rib::dump_part::kind::routes, false, RT_TABLE_LOCAL});
    ASSERT_TRUE(rib_.end_part(true));
    EXPECT_TRUE(rib_.sweep([] { return true; }));
    EXPECT_FALSE(is_local());
    EXPECT_FALSE(rib_.is_doubtful());
}

TEST_F(netlink_rib_test, addresses_without_a_network) {
    receive(address(west, "10.0.7.1/24", false, IFA_F_PERMANENT | IFA_F_NOPREFIXROUTE));
    EXPECT_EQ(rib_.learned().addresses.at("west"), std::vector{prefix_of("10.0.7.1/32")});
    receive(address(west, "10.0.7.1/24"));
    EXPECT_EQ(rib_.learned().addresses.at("west"), std::vector{prefix_of("10.0.7.1/24")});
    receive(address(west, "10.0.7.1/24", true, 0));
    EXPECT_TRUE(rib_.learned().addresses.empty());
}

/// As NetworkManager adds it: `noprefixroute`, and the network as a route of protocol kernel, in any order.
TEST_F(netlink_rib_test, a_connected_network_that_a_daemon_adds) {
    const auto at_west = [&](const char* a, uint32_t flags, bool gone = false) {
        receive(address(west, a, gone, IFA_F_PERMANENT | flags));
    };
    const route_event v4{.to = "10.0.7.0/24", .metric = 100, .protocol = RTPROT_KERNEL};
    const route_event v6{.to = "2001:db8:7::/64", .metric = 100, .protocol = RTPROT_KERNEL};
    at_west("10.0.7.1/24", IFA_F_NOPREFIXROUTE);
    receive(v4);
    receive(v6);
    EXPECT_EQ(via("10.0.7.0/24"), "link west");
    EXPECT_EQ(via("2001:db8:7::/64"), "none") << "a router advertisement's, perhaps";
    at_west("2001:db8:7::1/64", IFA_F_NOPREFIXROUTE);
    EXPECT_EQ(via("2001:db8:7::/64"), "link west");
    at_west("2001:db8:7::1/64", 0);
    EXPECT_EQ(via("2001:db8:7::/64"), "none") << "it follows from the address";
    at_west("2001:db8:7::1/64", IFA_F_NOPREFIXROUTE);
    receive(gone(v6));
    EXPECT_EQ(via("2001:db8:7::/64"), "none");
    receive(gone(v4));
    EXPECT_EQ(via("10.0.7.0/24"), "none");
    EXPECT_FALSE(rib_.is_doubtful());
}

/// `ip addr add 10.0.9.1 peer 10.0.9.2 dev west`: the address is the box's, and the network the peer's.
TEST_F(netlink_rib_test, point_to_point_addresses) {
    const auto to_peer = [&](uint32_t by, const char* peer, bool gone = false) {
        message m = address(by, "10.0.9.1/32", gone);
        std::get<netlink::address>(m.what).remote = address_of(peer);
        receive(m);
        const std::string network = std::string(peer) + "/32";
        receive(route_of({.to = network.c_str(), .by = by, .protocol = RTPROT_KERNEL}, gone));
    };
    const std::vector local{prefix_of("10.0.9.1/32")};
    to_peer(west, "10.0.9.2");
    EXPECT_EQ(rib_.learned().addresses.at("west"), local);
    EXPECT_EQ(via("10.0.9.2/32"), "link west");
    to_peer(west, "10.0.9.3");
    EXPECT_EQ(rib_.learned().addresses.at("west"), local) << "once";
    to_peer(west, "10.0.9.2", true);
    EXPECT_EQ(rib_.learned().addresses.at("west"), local);
    EXPECT_EQ(via("10.0.9.2/32"), "none");
    EXPECT_EQ(via("10.0.9.3/32"), "link west");
    to_peer(west, "10.0.9.3", true);
    EXPECT_TRUE(rib_.learned().addresses.empty());
    to_peer(management, "10.0.9.2");
    EXPECT_EQ(find("10.0.9.1/32")->type, route_type::local);
    EXPECT_EQ(find("10.0.9.2/32")->type, route_type::not_followed);
    // A dump without it.
    rib_.begin_part({netlink_rib::dump_part::kind::addresses});
    ASSERT_TRUE(rib_.end_part(true));
    EXPECT_TRUE(rib_.sweep([] { return true; }));
    EXPECT_EQ(find("10.0.9.1/32"), nullptr);
}

TEST_F(netlink_rib_test, the_networks_of_other_interfaces_use_no_shorter_prefix) {
    receive({.to = "0.0.0.0/0", .via = "10.0.2.2", .by = east});
    receive(address(management, "192.0.2.1/24"));
    receive({.to = "192.0.2.0/24", .by = management, .protocol = RTPROT_KERNEL});
    receive(address(management, "2001:db8:77::1/64"));
    receive({.to = "2001:db8:77::/64", .by = management, .protocol = RTPROT_KERNEL});
    // Any host on the management link can advertise a prefix.
    receive({.to = "2001:db8:78::/64", .by = management, .protocol = RTPROT_KERNEL});
    EXPECT_EQ(find("192.0.2.0/24")->type, route_type::not_followed);
    EXPECT_EQ(find("2001:db8:77::/64")->type, route_type::not_followed);
    EXPECT_EQ(find("2001:db8:78::/64"), nullptr);
    EXPECT_EQ(rib_.count_not_followed()[static_cast<size_t>(not_followed::interface)], 2U);
    receive(address(management, "2001:db8:77::1/64", true));
    EXPECT_EQ(find("2001:db8:77::/64"), nullptr);
    // The interface is mirrored from now on: its networks follow from its addresses.
    rib_.set_ours({.interfaces = {{west, "west"}, {east, "east"}, {management, "north"}},
                   .vrfs = {{10, "red"}}});
    receive(address(management, "192.0.2.1/24"));
    EXPECT_EQ(find("192.0.2.0/24"), nullptr);
    EXPECT_EQ(rib_.others(), 0U);
}

TEST_F(netlink_rib_test, types_by_which_the_kernel_forwards_nothing) {
    for (const auto& [to, type] : {std::pair{"10.25.1.1/32", RTN_BROADCAST},
                                   {"10.26.0.0/16", RTN_ANYCAST},
                                   {"10.27.0.0/16", RTN_MULTICAST}}) {
        receive({.to = to, .type = static_cast<uint8_t>(type)});
        ASSERT_NE(find(to), nullptr) << to;
        EXPECT_EQ(find(to)->type, route_type::not_followed) << to;
        receive(
            {.to = to, .protocol = RTPROT_KERNEL, .type = static_cast<uint8_t>(type), .table = 10});
        EXPECT_EQ(find(to, "red"), nullptr) << "a VRF's own: " << to;
    }
    EXPECT_EQ(rib_.count_not_followed()[static_cast<size_t>(not_followed::type)], 3U);
    const route_event anycast{
        .to = "2001:db8:28::/48", .type = RTN_ANYCAST, .table = RT_TABLE_LOCAL};
    receive(anycast);
    EXPECT_EQ(find("2001:db8:28::/48")->type, route_type::local);
    receive(gone(anycast));
    EXPECT_EQ(find("2001:db8:28::/48"), nullptr);
}

TEST_F(netlink_rib_test, permanent_neighbours) {
    const auto neighbour = [](const char* at, uint16_t state, uint8_t flags = 0, uint32_t on = west,
                              const char* mac = "02:00:00:00:00:0e") {
        return message{.what = netlink::neighbour{.interface = on,
                                                  .at = address_of(at),
                                                  .mac = *parse_mac(mac),
                                                  .state = state,
                                                  .flags = flags}};
    };
    const auto& known = rib_.learned().neighbours;
    receive(neighbour("10.0.1.5", NUD_REACHABLE));
    receive(neighbour("10.0.1.5", NUD_PERMANENT, NTF_EXT_LEARNED));
    receive(neighbour("10.0.1.5", NUD_PERMANENT, 0, west, "01:00:5e:00:00:01"));
    receive(neighbour("10.0.1.5", NUD_PERMANENT, 0, management));
    receive(neighbour("ff02::1", NUD_PERMANENT));
    EXPECT_TRUE(known.empty());
    EXPECT_FALSE(rib_.consume_changed());
    receive(neighbour("10.0.1.5", NUD_PERMANENT));
    receive(neighbour("2001:db8:1::5", NUD_PERMANENT, 0, east));
    EXPECT_EQ(known.at({"west", address_of("10.0.1.5")}).text(), "02:00:00:00:00:0e");
    EXPECT_EQ(known.size(), 2U);
    EXPECT_TRUE(rib_.consume_changed());
    receive(neighbour("10.0.1.5", NUD_PERMANENT));
    EXPECT_FALSE(rib_.consume_changed());
    receive(neighbour("10.0.1.5", NUD_PERMANENT, 0, west, "02:00:00:00:00:0f"));
    EXPECT_EQ(known.at({"west", address_of("10.0.1.5")}).text(), "02:00:00:00:00:0f");
    // From now on the entry is resolved by solicitation.
    receive(neighbour("10.0.1.5", NUD_STALE));
    EXPECT_EQ(known.size(), 1U);
    EXPECT_TRUE(rib_.consume_changed());
    // Entries are removed and added with their interface.
    rib_.set_ours({.interfaces = {{west, "west"}, {management, "far"}}, .vrfs = {}});
    EXPECT_EQ(known.size(), 1U);
    EXPECT_TRUE(known.contains({"far", address_of("10.0.1.5")}));
    receive({.what = netlink::link{.gone = true, .index = management}});
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
