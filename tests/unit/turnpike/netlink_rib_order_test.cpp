// SPDX-License-Identifier: BSD-3-Clause
// Several routes of a prefix: which counts, in which order, and nexthop objects and groups.
#include "netlink_rib_lab.hpp"

namespace turnpike::sources {
namespace {

/// Against a plain list of all routes: the lowest metric wins.
TEST_F(netlink_rib_test, of_several_the_lowest_metric_counts) {
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
            receive({.to = to[which], .via = gateway, .metric = metric, .how = replace});
            there[metric] = gateway;
        } else if (const auto at = there.find(metric); at != there.end()) {
            receive(gone({.to = to[which], .via = at->second.c_str(), .metric = metric}));
            there.erase(at);
        }
        ASSERT_EQ(via(to[which]), there.empty() ? "none" : there.begin()->second + " west") << n;
    }
    EXPECT_FALSE(rib_.is_doubtful());
}

TEST_F(netlink_rib_test, next_hop_objects) {
    const auto nexthop = [](uint32_t id, const char* via_address, bool goes = false) {
        return message{
            .what = netlink::next_hop{.gone = goes,
                                      .id = id,
                                      .path = {.interface = west, .via = address_of(via_address)}}};
    };
    receive(nexthop(7, "10.0.1.7"));
    receive(nexthop(17, "10.0.1.17"));
    receive({.what = netlink::next_hop{.id = 70, .group = {{7, 1}, {17, 3}}}});
    // A kernel with net.ipv4.nexthop_compat_mode=0 names only the object.
    receive({.what = netlink::route{.to = prefix_of("10.7.0.0/16"),
                                    .table = RT_TABLE_MAIN,
                                    .protocol = RTPROT_BGP,
                                    .type = RTN_UNICAST,
                                    .next_hop = 7}});
    EXPECT_EQ(via("10.7.0.0/16"), "10.0.1.7 west");
    receive({.what = netlink::route{.to = prefix_of("10.70.0.0/16"),
                                    .table = RT_TABLE_MAIN,
                                    .protocol = RTPROT_BGP,
                                    .type = RTN_UNICAST,
                                    .next_hop = 70}});
    EXPECT_EQ(via("10.70.0.0/16"), "10.0.1.7 west, 10.0.1.17 west 3");
    receive(nexthop(8, "10.0.1.8"));
    receive(nexthop(8, "10.0.1.8", true));
    // The kernel removes the object's routes without notifications, and the object from its groups.
    receive(nexthop(7, "10.0.1.7", true));
    EXPECT_EQ(via("10.7.0.0/16"), "none");
    EXPECT_EQ(via("10.70.0.0/16"), "10.0.1.17 west");
    receive(nexthop(17, "10.0.1.18"));
    EXPECT_EQ(via("10.70.0.0/16"), "10.0.1.18 west") << "as with nexthop_compat_mode=0";
    // Without carrier the object goes, with its group and the group's routes, and nothing is notified.
    receive({.what = netlink::link{.index = west, .up = true, .carrier = false}});
    EXPECT_EQ(via("10.70.0.0/16"), "none");
    EXPECT_TRUE(rib_.learned().routes.empty());
    EXPECT_FALSE(rib_.is_doubtful());
}

/// A table by one nexthop object changes a part at a time.
TEST_F(netlink_rib_test, a_changed_object_changes_its_routes_part_by_part) {
    constexpr uint32_t routes = 1000;
    const auto object = [](const char* via_address, bool goes = false) {
        return message{
            .what = netlink::next_hop{.gone = goes,
                                      .id = 7,
                                      .path = {.interface = west, .via = address_of(via_address)}}};
    };
    const auto network = [](uint32_t n) {
        return ip_prefix{ip_address::from_v4(0x0a40'0000 + (n << 8)), 24};
    };
    const auto count_via = [&](const char* gateway) {
        size_t count = 0;
        for (const auto& r : rib_.learned().routes)
            count += rib_.learned().routes.targets()[r.target].members.front().via ==
                     address_of(gateway);
        return count;
    };
    receive(object("10.0.1.7"));
    for (uint32_t n = 0; n < routes; ++n)
        rib_.apply({.what = netlink::route{.to = network(n),
                                           .table = RT_TABLE_MAIN,
                                           .protocol = RTPROT_BGP,
                                           .type = RTN_UNICAST,
                                           .next_hop = 7}});
    EXPECT_EQ(count_via("10.0.1.7"), routes);
    const auto one_part = [&] { return rib_.settle([n = 0]() mutable { return n++ == 0; }); };
    rib_.apply(object("10.0.1.8"));
    ASSERT_FALSE(one_part());
    EXPECT_GT(count_via("10.0.1.8"), 0U);
    EXPECT_LT(count_via("10.0.1.8"), routes / 2);
    // It changes again, and a route has gone meanwhile.
    rib_.apply(object("10.0.1.9"));
    rib_.apply({.what = netlink::route{.gone = true,
                                       .to = network(500),
                                       .table = RT_TABLE_MAIN,
                                       .protocol = RTPROT_BGP,
                                       .type = RTN_UNICAST,
                                       .next_hop = 7}});
    unsigned parts = 0;
    while (!one_part()) ++parts;
    EXPECT_GT(parts, 10U);
    EXPECT_EQ(count_via("10.0.1.9"), routes - 1);
    rib_.apply(object("10.0.1.9", true));
    ASSERT_FALSE(one_part());
    rib_.settle();
    EXPECT_TRUE(rib_.learned().routes.empty());
    receive({.to = "10.64.0.0/24", .via = "10.0.1.2"});
    EXPECT_EQ(via("10.64.0.0/24"), "10.0.1.2 west");
}

TEST_F(netlink_rib_test, of_several_ways_those_that_are_ours_and_alive_share) {
    netlink::route r{.to = prefix_of("10.7.0.0/16"), .table = RT_TABLE_MAIN, .type = RTN_UNICAST};
    r.nexthops = {{.interface = west, .via = address_of("10.0.1.9"), .flags = RTNH_F_DEAD},
                  {.interface = east, .via = address_of("10.0.2.2"), .weight = 5},
                  {.interface = management, .via = address_of("192.0.2.1")},
                  {.interface = west, .via = address_of("10.0.1.2"), .flags = RTNH_F_LINKDOWN}};
    receive({.what = r});
    EXPECT_EQ(via("10.7.0.0/16"), "10.0.1.2 west, 10.0.2.2 east 5");
    // When an interface goes down, its next hops leave the group.
    receive({.what = netlink::link{.index = east, .name = "east"}});
    EXPECT_EQ(via("10.7.0.0/16"), "10.0.1.2 west");
    // A single next hop of an IPv6 route may be removed.
    netlink::route v6{.to = prefix_of("2001:db8:7::/48"),
                      .table = RT_TABLE_MAIN,
                      .type = RTN_UNICAST,
                      .metric = 20};
    v6.nexthops = {{.interface = west, .via = address_of("fe80::2")},
                   {.interface = west, .via = address_of("fe80::3")}};
    receive({.what = v6});
    EXPECT_EQ(via("2001:db8:7::/48"), "fe80::2 west, fe80::3 west");
    receive(gone({.to = "2001:db8:7::/48", .via = "fe80::2", .metric = 20}));
    EXPECT_EQ(via("2001:db8:7::/48"), "fe80::3 west");
    receive(gone({.to = "2001:db8:7::/48", .via = "fe80::3", .metric = 20}));
    EXPECT_EQ(via("2001:db8:7::/48"), "none");
    EXPECT_FALSE(rib_.is_doubtful());
}

/// fib_table_insert(): prepended (CREATE), appended, replaced; the first of a prefix and metric counts.
TEST_F(netlink_rib_test, several_ipv4_routes_of_a_metric) {
    const auto with = [](const char* gateway, uint16_t how, uint32_t metric = 20) {
        return route_event{.to = "10.5.0.0/16", .via = gateway, .metric = metric, .how = how};
    };
    receive(with("10.0.1.2", NLM_F_CREATE | NLM_F_EXCL));
    receive(with("10.0.1.3", NLM_F_CREATE | NLM_F_APPEND));
    receive(with("10.0.1.4", NLM_F_CREATE));
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.4 west");
    receive(gone(with("10.0.1.4", 0)));
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.2 west");
    receive(with("10.0.1.5", NLM_F_REPLACE));
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.5 west");
    receive(with("10.0.1.9", NLM_F_CREATE | NLM_F_EXCL, 10));
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.9 west");
    receive(gone(with("10.0.1.9", 0, 10)));
    receive(gone(with("10.0.1.5", 0)));
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.3 west");
    receive(gone(with("10.0.1.3", 0)));
    EXPECT_EQ(via("10.5.0.0/16"), "none");
    EXPECT_FALSE(rib_.is_doubtful());
    // A dump lists them in the kernel's order.
    receive(with("10.0.1.7", NLM_F_MULTI));
    receive(with("10.0.1.6", NLM_F_MULTI));
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.7 west");
    // One was notified before its part of the dump.
    receive(with("10.0.1.7", NLM_F_MULTI));
    EXPECT_EQ(via("10.5.0.0/16"), "10.0.1.6 west");
}

/// A path of a multipath route whose metric does not count.
TEST_F(netlink_rib_test, ipv6_paths_of_a_worse_metric) {
    receive({.to = "2001:db8:9::/48", .via = "2001:db8:1::2", .metric = 10});
    auto two = route_of({.to = "2001:db8:9::/48", .by = 0, .metric = 20});
    std::get<netlink::route>(two.what).nexthops = {
        {.interface = east, .via = address_of("2001:db8:2::2")},
        {.interface = east, .via = address_of("2001:db8:2::3")}};
    receive(two);
    receive(gone({.to = "2001:db8:9::/48", .via = "2001:db8:2::2", .by = east, .metric = 20}));
    EXPECT_EQ(via("2001:db8:9::/48"), "2001:db8:1::2 west");
    receive(gone({.to = "2001:db8:9::/48", .via = "2001:db8:1::2", .metric = 10}));
    EXPECT_EQ(via("2001:db8:9::/48"), "2001:db8:2::3 east");
}

/// The message of a path that joins a multipath route has all paths.
TEST_F(netlink_rib_test, ipv6_paths_join_and_routes_of_links_do_not) {
    receive({.to = "2001:db8:9::/48", .via = "fe80::2"});
    auto joined = route_of({.to = "2001:db8:9::/48", .by = 0, .how = NLM_F_CREATE});
    std::get<netlink::route>(joined.what).nexthops = {
        {.interface = west, .via = address_of("fe80::3")},
        {.interface = west, .via = address_of("fe80::2")}};
    receive(joined);
    EXPECT_EQ(via("2001:db8:9::/48"), "fe80::2 west, fe80::3 west");
    receive({.to = "2001:db8:9::/48", .by = east, .how = NLM_F_CREATE | NLM_F_APPEND});
    EXPECT_EQ(via("2001:db8:9::/48"), "fe80::2 west, fe80::3 west");
    receive({.to = "2001:db8:9::/48", .via = "fe80::4", .how = replace});
    EXPECT_EQ(via("2001:db8:9::/48"), "fe80::4 west");
    receive(gone({.to = "2001:db8:9::/48", .via = "fe80::4"}));
    EXPECT_EQ(via("2001:db8:9::/48"), "link east");
    EXPECT_FALSE(rib_.is_doubtful());
    // `ip -6 route replace` with several next hops is notified as if it were added.
    joined = route_of({.to = "2001:db8:9::/48", .by = 0, .how = NLM_F_CREATE});
    std::get<netlink::route>(joined.what).nexthops = {
        {.interface = west, .via = address_of("fe80::3")},
        {.interface = west, .via = address_of("fe80::2")}};
    receive(joined);
    EXPECT_TRUE(rib_.is_doubtful()) << "the route of the link may be gone";
}

/// A source-specific route is no route of all sources, and its end is not theirs.
TEST_F(netlink_rib_test, source_specific_routes) {
    receive({.to = "::/0", .via = "2001:db8:2::2", .by = east, .metric = 1024});
    auto specific = route_of({.to = "::/0", .via = "2001:db8:1::9", .metric = 1024});
    std::get<netlink::route>(specific.what).from = prefix_of("2001:db8:1::/64");
    receive(specific);
    EXPECT_EQ(via("::/0"), "2001:db8:2::2 east");
    std::get<netlink::route>(specific.what).gone = true;
    receive(specific);
    EXPECT_EQ(via("::/0"), "2001:db8:2::2 east");
    // The kernel looks at no other routes of a prefix that has a source-specific one, unless it is the default.
    receive({.to = "2001:db8:9::/48", .via = "2001:db8:2::2", .by = east});
    std::get<netlink::route>(specific.what).gone = false;
    std::get<netlink::route>(specific.what).to = prefix_of("2001:db8:9::/48");
    receive(specific);
    EXPECT_EQ(find("2001:db8:9::/48")->type, route_type::not_followed);
    const auto listed = rib_.list_not_followed(10);
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0].to, prefix_of("2001:db8:9::/48"));
    EXPECT_EQ(listed[0].why, not_followed::source_prefix);
    const uint32_t table = listed[0].table;
    EXPECT_EQ(rib_.list_not_followed(10, table, listed[0].to).size(), 1U);
    EXPECT_TRUE(rib_.list_not_followed(10, table, prefix_of("2001:db8:a::/48")).empty());
    EXPECT_EQ(rib_.list_not_followed(10, table - 1, prefix_of("2001:db8:a::/48")).size(), 1U);
    EXPECT_TRUE(rib_.list_not_followed(10, table + 1).empty());
}

/// Linux fib6_add_rt2node(): a replacement does not look for an equal route (rib-differential, seed 16).
TEST_F(netlink_rib_test, ipv6_replaces_the_first_route_also_with_one_that_exists) {
    const route_event hole{.to = "2001:db8::/32", .by = 0, .metric = 100, .type = RTN_BLACKHOLE},
        linked{
            .to = "2001:db8::/32", .by = east, .metric = 100, .how = NLM_F_CREATE | NLM_F_APPEND};
    receive(hole);
    receive(linked);
    ASSERT_NE(find("2001:db8::/32"), nullptr);
    EXPECT_EQ(find("2001:db8::/32")->type, route_type::blackhole);
    auto again = linked;
    again.how = replace;
    receive(again);
    EXPECT_EQ(find("2001:db8::/32")->type, route_type::unicast);
    EXPECT_EQ(via("2001:db8::/32"), "link east");
    // The kernel now has it twice.
    receive(gone(linked));
    EXPECT_EQ(via("2001:db8::/32"), "link east");
    receive(gone(linked));
    EXPECT_EQ(via("2001:db8::/32"), "none");
}

/// Such routes may differ in their type alone; a dump then lists both (rib-differential, seed 4).
TEST_F(netlink_rib_test, ipv6_routes_with_the_same_next_hop_stay_after_a_dump) {
    const route_event linked{.to = "2001::/16", .by = east},
        hole{.to = "2001::/16", .by = 0, .type = RTN_BLACKHOLE, .how = NLM_F_CREATE | NLM_F_APPEND},
        rejecting{.to = "2001::/16", .by = 0, .type = RTN_UNREACHABLE, .how = replace};
    receive(linked);
    receive(hole);
    receive(rejecting);
    const auto list = [&](std::initializer_list<route_event> routes) {
        rib_.begin_part({netlink_rib::dump_part::kind::routes, true, RT_TABLE_MAIN});
        for (route_event e : routes) {
            e.how = NLM_F_MULTI;
            receive(e);
        }
        ASSERT_TRUE(rib_.end_part(true));
        ASSERT_TRUE(rib_.sweep([] { return true; }));
        rib_.settle();
    };
    list({rejecting, hole});
    ASSERT_NE(find("2001::/16"), nullptr);
    EXPECT_EQ(find("2001::/16")->type, route_type::unreachable);
    list({hole, rejecting});  // in the dump's order
    EXPECT_EQ(find("2001::/16")->type, route_type::blackhole);
}

/// fib6_dump_table(): after a removal and an addition, the next part skips a route.
TEST_F(netlink_rib_test, an_ipv6_route_that_a_dump_skips_stays) {
    const route_event gone_early{.to = "2001:db8:1::/48"}, skipped{.to = "2001:db8:2::/48"},
        stale{.to = "2001:db8:3::/48"}, last{.to = "2001:db8:4::/48"},
        added{.to = "2001:db8:5::/48"};
    for (const route_event& e : {gone_early, skipped, stale, last}) receive(e);
    const auto list = [&](std::initializer_list<route_event> routes) {
        for (route_event e : routes) {
            e.how = NLM_F_MULTI;
            receive(e);
        }
    };
    const netlink_rib::dump_part part{netlink_rib::dump_part::kind::routes, true, RT_TABLE_MAIN};
    rib_.begin_part(part);
    list({gone_early});
    receive(gone(gone_early));
    receive(added);
    list({last, added});
    ASSERT_FALSE(rib_.end_part(true)) << "it may lack some";
    EXPECT_TRUE(rib_.sweep([] { return true; }));
    rib_.begin_part(part);
    list({skipped, last, added});
    ASSERT_TRUE(rib_.end_part(true));
    ASSERT_TRUE(rib_.sweep([] { return true; }));
    rib_.settle();
    for (const route_event& e : {skipped, last, added}) EXPECT_NE(find(e.to), nullptr) << e.to;
    for (const route_event& e : {gone_early, stale}) EXPECT_EQ(find(e.to), nullptr) << e.to;
    // Beside steady removals the dumps end.
    unsigned replies = 0;
    do {
        rib_.begin_part(part);
        list({skipped, last, added});
        receive(gone(stale));
    } while (++replies < 10 && !rib_.end_part(true));
    EXPECT_EQ(replies, netlink_rib::max_replies);
}

/// The kernel queues a part of a reply that has an object behind the notification that the object has gone.
TEST_F(netlink_rib_test, an_obsolete_part_of_a_dump_counts_for_nothing) {
    using kind = netlink_rib::dump_part::kind;
    const route_event going{.to = "10.1.0.0/16", .via = "10.0.1.2"},
        staying{.to = "10.3.0.0/16", .via = "10.0.1.2"};
    const auto end = [&](bool certain) {
        ASSERT_EQ(rib_.end_part(true), certain);
        ASSERT_TRUE(rib_.sweep([] { return true; }));
        rib_.settle();
    };
    const auto list = [&](std::initializer_list<route_event> routes) {
        for (route_event e : routes) {
            e.how = NLM_F_MULTI;
            receive(e);
        }
    };
    const netlink_rib::dump_part part{kind::routes, false, RT_TABLE_MAIN};
    for (const bool known : {false, true}) {  // a first dump, and another
        if (known) receive(going);
        rib_.begin_part(part);
        receive(gone(going));
        list({going, staying});
        end(false);
        rib_.begin_part(part);
        list({staying});
        end(true);
        EXPECT_EQ(via("10.1.0.0/16"), "none");
        EXPECT_EQ(via("10.3.0.0/16"), "10.0.1.2 west");
    }
    // `ip route replace`: the former route would come back with the end of the new one.
    rib_.begin_part(part);
    route_event by = staying;
    by.via = "10.0.1.3";
    by.how = replace;
    receive(by);
    list({staying});
    end(false);
    rib_.begin_part(part);
    list({by});
    end(true);
    EXPECT_EQ(via("10.3.0.0/16"), "10.0.1.3 west");
    receive(gone(by));
    EXPECT_EQ(via("10.3.0.0/16"), "none");
    // Parts after the next one are later than the notification.
    rib_.begin_part(part);
    receive(staying);
    list({{.to = "10.0.0.0/16", .via = "10.0.1.2"}});
    receive(gone(going));
    list({staying});
    end(true);

    const netlink::address ours{
        .interface = west, .local = prefix_of("192.0.2.1/24"), .flags = IFA_F_PERMANENT};
    netlink::address leaves = ours;
    leaves.gone = true;
    receive({.what = ours});
    rib_.begin_part({kind::addresses});
    receive({.what = leaves});
    receive({.what = ours, .listed = true});
    end(true);
    EXPECT_TRUE(rib_.learned().addresses.empty());

    netlink::neighbour fixed{.interface = west,
                             .at = address_of("192.0.2.9"),
                             .mac = mac_address{{2, 0, 0, 0, 0, 9}},
                             .state = NUD_PERMANENT};
    receive({.what = fixed});
    EXPECT_EQ(rib_.learned().neighbours.size(), 1U);
    rib_.begin_part({kind::neighbours});
    netlink::neighbour other = fixed;
    other.state = NUD_STALE;
    receive({.what = other});
    receive({.what = fixed, .listed = true});
    end(true);
    EXPECT_TRUE(rib_.learned().neighbours.empty());
}

/// A dump shows the preference of the first path of a multipath route only, and no route between the paths
/// (rib-differential, seeds 117 and 147).
TEST_F(netlink_rib_test, an_ipv6_route_between_paths_of_different_preferences_stays_after_a_dump) {
    const auto path = [](const char* gateway, uint16_t how, uint8_t preference) {
        message m = route_of({.to = "2001:db8::/32", .via = gateway, .metric = 100, .how = how});
        std::get<netlink::route>(m.what).preference = preference;
        return m;
    };
    constexpr uint8_t medium = 0, low = 3;
    receive(path("2001:db8:1::2", NLM_F_CREATE | NLM_F_EXCL, medium));
    receive({.to = "2001:db8::/32",
             .by = 0,
             .metric = 100,
             .type = RTN_BLACKHOLE,
             .how = NLM_F_CREATE | NLM_F_APPEND});
    message both = path("2001:db8:1::3", NLM_F_CREATE, low);  // the new path first
    std::get<netlink::route>(both.what).nexthops.push_back(
        {.interface = west, .via = address_of("2001:db8:1::2")});
    receive(both);
    message listed = path("2001:db8:1::2", NLM_F_MULTI, medium);
    std::get<netlink::route>(listed.what)
        .nexthops.push_back({.interface = west, .via = address_of("2001:db8:1::3")});
    rib_.begin_part({netlink_rib::dump_part::kind::routes, true, RT_TABLE_MAIN});
    receive(listed);
    ASSERT_TRUE(rib_.end_part(true));
    ASSERT_TRUE(rib_.sweep([] { return true; }));
    rib_.settle();
    receive(gone({.to = "2001:db8::/32", .via = "2001:db8:1::2", .metric = 100}));
    receive(gone({.to = "2001:db8::/32", .via = "2001:db8:1::3", .metric = 100}));
    ASSERT_NE(find("2001:db8::/32"), nullptr);
    EXPECT_EQ(find("2001:db8::/32")->type, route_type::blackhole);
}

/// fib6_rt_update() notifies like a replacement, but the routes of a replaced object remain in their order
/// (rib-differential, seeds 2 and 3).
TEST_F(netlink_rib_test, ipv6_routes_stay_in_order_when_their_object_is_replaced) {
    receive({.to = "2001:db8::/32", .by = 0, .metric = 100, .type = RTN_BLACKHOLE});
    message object{.sequence = 7,
                   .what = netlink::next_hop{.id = 6, .path = {.interface = west}},
                   .requester = 4321};
    receive(object);
    const auto by_object = [&](uint32_t sequence, uint16_t how) {
        message m = route_of({.to = "2001:db8::/32", .by = west, .metric = 100, .how = how});
        std::get<netlink::route>(m.what).next_hop = 6;
        m.sequence = sequence;
        m.requester = 4321;
        return m;
    };
    receive(by_object(8, NLM_F_CREATE | NLM_F_APPEND));
    std::get<netlink::next_hop>(object.what).path.interface = east;
    object.sequence = 9;
    receive(object);
    receive(by_object(9, NLM_F_REPLACE));
    ASSERT_NE(find("2001:db8::/32"), nullptr);
    EXPECT_EQ(find("2001:db8::/32")->type, route_type::blackhole);
    receive(by_object(10, NLM_F_REPLACE));  // `ip -6 route replace`
    EXPECT_EQ(find("2001:db8::/32")->type, route_type::unicast);
    EXPECT_EQ(via("2001:db8::/32"), "link east");
}

TEST_F(netlink_rib_test, weights_keep_their_ratio) {
    for (const uint32_t id : {7U, 17U})
        receive({.what = netlink::next_hop{
                     .id = id,
                     .path = {.interface = west, .via = ip_address::from_v4(0x0a000100 + id)}}});
    receive({.what = netlink::next_hop{.id = 70, .group = {{7, 1000}, {17, 500}}}});
    auto by_group = route_of({.to = "10.70.0.0/16", .by = 0});
    std::get<netlink::route>(by_group.what).next_hop = 70;
    receive(by_group);
    EXPECT_EQ(via("10.70.0.0/16"), "10.0.1.7 west 256, 10.0.1.17 west 128");
    receive({.what = netlink::next_hop{.id = 70, .group = {{7, 65535}, {17, 1}}}});
    EXPECT_EQ(via("10.70.0.0/16"), "10.0.1.7 west 256, 10.0.1.17 west");
}

/// fib_sync_down_dev() and fib_sync_up(): paths of an interface that is down wait, without notifications.
TEST_F(netlink_rib_test, paths_die_and_come_back_with_their_interface) {
    for (const char* const to : {"10.7.0.0/16", "2001:db8:7::/48"}) {
        auto two = route_of({.to = to, .by = 0});
        const bool v6 = std::get<netlink::route>(two.what).to.address.v6;
        std::get<netlink::route>(two.what).nexthops = {
            {.interface = west, .via = address_of(v6 ? "fe80::2" : "10.0.1.2")},
            {.interface = east, .via = address_of(v6 ? "fe80::3" : "10.0.2.2")}};
        receive(two);
    }
    const auto link = [](uint32_t by, bool up) {
        return message{.what = netlink::link{.index = by, .up = up, .carrier = up, .running = up}};
    };
    receive(link(east, false));
    EXPECT_EQ(via("10.7.0.0/16"), "10.0.1.2 west");
    EXPECT_EQ(via("2001:db8:7::/48"), "fe80::2 west");
    receive(link(east, true));
    EXPECT_EQ(via("10.7.0.0/16"), "10.0.1.2 west, 10.0.2.2 east");
    EXPECT_EQ(via("2001:db8:7::/48"), "fe80::2 west, fe80::3 east");
    receive(link(east, false));
    receive(link(west, false));
    EXPECT_TRUE(rib_.learned().routes.empty());
    receive(link(east, true));
    EXPECT_TRUE(rib_.learned().routes.empty()) << "the kernel removed them";
}

/// fib_nexthop_info() says so of a path without carrier, while the sysctl is on: it is alive when the carrier returns.
TEST_F(netlink_rib_test, a_path_is_not_dead_by_ignore_routes_with_linkdown) {
    const auto link = [](bool carrier) {
        return message{.what = netlink::link{
                           .index = west, .up = true, .carrier = carrier, .running = carrier}};
    };
    const auto address = [](bool goes) {
        return message{.what = netlink::address{.gone = goes,
                                                .interface = west,
                                                .local = prefix_of("10.0.1.1/24"),
                                                .flags = IFA_F_PERMANENT}};
    };
    receive(link(false));
    receive(address(false));
    for (const uint16_t how : {uint16_t{NLM_F_CREATE | NLM_F_EXCL}, uint16_t{NLM_F_MULTI}}) {
        auto without_carrier = route_of({.to = "10.9.0.0/16", .via = "10.0.1.2", .how = how});
        std::get<netlink::route>(without_carrier.what).nexthops.front().flags =
            RTNH_F_DEAD | RTNH_F_LINKDOWN;
        receive(without_carrier);
        receive(link(true));
        EXPECT_EQ(via("10.9.0.0/16"), "10.0.1.2 west") << how;
        receive(link(false));
    }
    // A path that is dead, since the last address of its interface went, stays so.
    auto two = route_of({.to = "10.7.0.0/16", .by = 0});
    std::get<netlink::route>(two.what).nexthops = {
        {.interface = west, .via = address_of("10.0.1.2")},
        {.interface = east, .via = address_of("10.0.2.2")}};
    receive(two);
    receive(address(true));
    receive(link(true));
    EXPECT_EQ(via("10.7.0.0/16"), "10.0.2.2 east");
}

}  // namespace
}  // namespace turnpike::sources
