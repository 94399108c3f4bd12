// SPDX-License-Identifier: BSD-3-Clause
// `clear counters` restarts the counters of `show` at 0; the report's counters continue.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "control/management/metrics_source.hpp"
#include "lib/eal.hpp"
#include "observe/open_metrics.hpp"
#include "reload_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using observe::report;

const char* const more_neighbours = "    - {address: 10.0.3.2, mac: \"02:00:00:00:00:0e\"}\n";
const std::string north = "  - {name: north, device: d2, addresses: [10.0.3.254/24]}\n";
const std::string to_north = "{to: 10.9.0.0/16, via: 10.0.3.2}";

const observe::port_report& port(const report& r, const std::string& name) {
    for (const auto& p : r.ports)
        if (p.name == name) return p;
    throw std::runtime_error("no port " + name);
}

/// After any traffic, the shown totals are the counts since `then`.
void expect_since(const report& then, control::controller& c) {
    const observe::balance a = then.total(), b = c.report().total(), s = c.shown_report().total();
    EXPECT_EQ(s.rx, b.rx - a.rx);
    EXPECT_EQ(s.tx, b.tx - a.tx);
    EXPECT_EQ(s.originated, b.originated - a.originated);
    EXPECT_EQ(s.consumed, b.consumed - a.consumed);
    EXPECT_EQ(s.drops, b.drops - a.drops);
    EXPECT_TRUE(b.holds());
}

TEST(clear, what_is_shown_begins_at_zero) {
    lab l(router("{to: 10.9.0.0/16, via: 10.0.2.2}"));
    control::controller& c = l.controller();
    EXPECT_FALSE(c.cleared());
    EXPECT_EQ(c.shown_report().total().rx, c.report().total().rx);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(l.egress_port("10.9.0.1"), 1);
    EXPECT_EQ(l.egress_port("203.0.113.1"), std::nullopt);
    const report then = c.report();
    EXPECT_GE(port(then, "west").totals.rx_packets, 4U);
    c.clear_counters();
    EXPECT_TRUE(c.cleared());
    const report none = c.shown_report();
    EXPECT_EQ(none.total().rx + none.total().tx + none.total().drops, 0U);
    EXPECT_TRUE(none.drops().empty());
    EXPECT_EQ(none.workers[0].packets, 0U);
    EXPECT_EQ(none.workers[0].busy_cycles, 0U);
    EXPECT_LT(none.duration_s, then.duration_s);
    EXPECT_EQ(l.egress_port("10.9.0.1"), 1);
    EXPECT_EQ(l.egress_port("203.0.113.1"), std::nullopt);
    const report shown = c.shown_report();
    EXPECT_EQ(port(shown, "west").totals.rx_packets, 2U);
    EXPECT_EQ(port(shown, "west").totals.rx_load.bursts, 2U);
    EXPECT_EQ(shown.workers[0].packets, 2U);
    EXPECT_EQ(shown.drops().at("no_route"), 1U);
    EXPECT_EQ(c.report().drops().at("no_route"), 2U);
    expect_since(then, c);
    c.clear_counters();
    EXPECT_EQ(c.shown_report().total().rx, 0U) << "again";
}

TEST(clear, a_port_alone) {
    lab l(router("{to: 10.9.0.0/16, via: 10.0.2.2}"));
    control::controller& c = l.controller();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(l.egress_port("10.9.0.1"), 1);
    const uint64_t sent = port(c.shown_report(), "east").totals.tx_packets;
    EXPECT_GE(sent, 3U);
    EXPECT_FALSE(c.clear_port_counters("wets"));
    EXPECT_TRUE(c.clear_port_counters("west"));
    EXPECT_FALSE(c.cleared()) << "the others count since the start";
    EXPECT_EQ(port(c.shown_report(), "west").totals.rx_packets, 0U);
    EXPECT_EQ(port(c.shown_report(), "east").totals.tx_packets, sent);
    EXPECT_EQ(l.egress_port("10.9.0.1"), 1);
    EXPECT_EQ(port(c.shown_report(), "west").totals.rx_packets, 1U);
    EXPECT_TRUE(c.report().total().holds());
}

TEST(clear, ports_go_and_come_again) {
    lab l(router(to_north, more_neighbours, "10.0.1.254/24", north));
    control::controller& c = l.controller();
    l.links(true);
    l.settle();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(l.egress_port("10.9.0.1"), 2);
    const report then = c.report();
    c.clear_counters();
    EXPECT_EQ(l.egress_port("10.9.0.1"), 2);
    EXPECT_EQ(port(c.shown_report(), "north").totals.tx_packets, 1U);
    expect_since(then, c);
    ASSERT_TRUE(l.apply(router()));
    l.forget_last();
    EXPECT_GE(port(c.report(), "(removed)").totals.tx_packets, 6U);
    EXPECT_LT(port(c.shown_report(), "(removed)").totals.tx_packets, 6U);
    expect_since(then, c);
    ASSERT_TRUE(l.apply(router(to_north, more_neighbours, "10.0.1.254/24", north)));
    l.links(true);
    l.settle();
    const uint64_t before = port(c.shown_report(), "north").totals.tx_packets;
    EXPECT_EQ(port(c.report(), "north").totals.tx_packets, before) << "it is another";
    EXPECT_EQ(l.egress_port("10.9.0.1"), 2);
    EXPECT_EQ(port(c.shown_report(), "north").totals.tx_packets, before + 1);
    expect_since(then, c);
}

/// The devices of the lab count no losses.
TEST(clear, losses_of_a_removed_port_stay) {
    lab l(router("", "", "10.0.1.254/24", north));
    control::controller& c = l.controller();
    const auto open =
        std::ranges::find_if(c.ports().open(), [](const auto& p) { return p->name == "north"; });
    const rxtx::port device = (*open)->lose();
    (*open)->last.losses = {.missed = 5, .no_buffer = 2};
    EXPECT_EQ(port(c.report(), "north").rx_missed, 5U);
    c.clear_counters();
    ASSERT_TRUE(l.apply(router()));
    l.forget_last();
    EXPECT_EQ(port(c.report(), "(removed)").rx_missed, 5U);
    EXPECT_EQ(port(c.report(), "(removed)").rx_no_buffer, 2U);
    EXPECT_EQ(port(c.shown_report(), "(removed)").rx_missed, 0U);
}

TEST(clear, lists_change) {
    const auto config = [](const std::string& rules) {
        return "acl:\n  - {name: a, default: permit, rules: [" + rules +
               "]}\nports:\n  - {name: west, device: d0, acl: {in: a}}\n"
               "  - {name: east, device: d1}\nxconnects: [[west, east]]\n";
    };
    const std::string web = "{action: permit, name: web, protocol: udp, destination_ports: 80},";
    const std::string echo = "{action: deny, protocol: udp, destination_ports: 7}";
    lab l(config(web + echo));
    const auto pass = [&] {
        for (const auto to : std::initializer_list<uint16_t>{80, 7, 9}) {
            byte_vector upper = udp(counted(4));
            store_be(&upper[2], to);
            ASSERT_TRUE(l.offer(0, ethernet(0x0800, ipv4({}, upper))));
        }
        l.settle();
        l.sent(1);
    };
    const auto shown = [&] { return l.controller().shown_report().acls.at(0); };
    pass();
    pass();
    l.controller().clear_counters();
    EXPECT_EQ(shown().permitted + shown().denied, 0U);
    pass();
    const auto once = shown();
    EXPECT_EQ(once.permitted, 2U);
    EXPECT_EQ(once.denied, 1U);
    for (const auto& r : once.rules) {
        const uint64_t expected = r.name == "tiny-fragment" ? 0 : 1;  // turnpike's own
        EXPECT_EQ(r.packets, expected) << r.name;
        EXPECT_EQ(r.by_worker[0], expected) << r.name;
    }
    // A page of the rules has the same numbers.
    for (size_t i = 0; i < once.rules.size(); ++i) {
        const auto page = l.controller().shown_acls(i, 1, true);
        ASSERT_EQ(page.lists.size(), 1U);
        ASSERT_EQ(page.lists[0].rules.size(), 1U);
        EXPECT_EQ(page.lists[0].rules[0].name, once.rules[i].name);
        EXPECT_EQ(page.lists[0].rules[0].packets, once.rules[i].packets) << i;
        EXPECT_EQ(page.lists[0].permitted, once.permitted);
    }
    // Another list: the rule with a name goes on, and so does the default; the other one is new,
    // and what its place had counted is not taken off.
    ASSERT_TRUE(l.apply(config("{action: deny, protocol: tcp}," + echo + "," + web)));
    EXPECT_EQ(shown().permitted, 2U);
    pass();
    const auto after = shown();
    EXPECT_EQ(after.permitted, 4U);
    EXPECT_EQ(after.denied, 2U);
    ASSERT_GE(after.rules.size(), 3U);
    const auto from_the_end = [&](size_t i) { return after.rules[after.rules.size() - i].packets; };
    EXPECT_EQ(from_the_end(3), 1U) << "has no name";
    EXPECT_EQ(from_the_end(2), 2U) << "web";
    EXPECT_EQ(from_the_end(1), 2U) << "default";
    // Bound anew, it begins anew.
    ASSERT_TRUE(
        l.apply("ports:\n  - {name: west, device: d0}\n  - {name: east, device: d1}\n"
                "xconnects: [[west, east]]\n"));
    ASSERT_TRUE(l.apply(config(web + echo)));
    pass();
    EXPECT_EQ(shown().permitted, 2U);
}

/// As many rules, behind others.
std::string numbered_rules(unsigned rules, const std::string& first) {
    std::string all = "acl:\n  - name: a\n    default: permit\n    rules:\n" + first;
    for (unsigned n = 1; n <= rules; ++n)
        all +=
            "      - {action: deny, protocol: udp, destination_ports: " + std::to_string(n) + "}\n";
    return all +
           "ports:\n  - {name: west, device: d0, acl: {in: a}}\n"
           "  - {name: east, device: d1}\nxconnects: [[west, east]]\n";
}

/// The metrics have no samples of the rules of long lists.
TEST(clear, a_scrape_collects_no_rules_of_a_long_list) {
    const auto rules = [](unsigned n) {
        lab l(numbered_rules(n, ""));
        const auto lists = control::scrape(l.controller(), false).numbers.acls;
        EXPECT_EQ(lists.size(), 1U);
        return lists.at(0).rules.size();
    };
    EXPECT_GT(rules(observe::max_listed_rules), observe::max_listed_rules);
    EXPECT_EQ(rules(observe::max_listed_rules + 3), 0U);
}

/// A client reads a list of a million rules in pages, and may do so after `clear counters`.
TEST(clear, a_page_of_rules_costs_no_more_in_a_longer_list) {
    using clock = std::chrono::steady_clock;
    const auto cost = [&](unsigned rules) {
        lab l(numbered_rules(rules, ""));
        l.controller().clear_counters();
        // All rules are elsewhere than at that time.
        EXPECT_TRUE(l.apply(numbered_rules(rules, "      - {action: deny, protocol: tcp}\n")));
        auto least = clock::duration::max();
        for (unsigned i = 0; i < 30; ++i) {
            const auto began = clock::now();
            for (unsigned page = 0; page < 10; ++page)
                EXPECT_EQ(l.controller().shown_acls(rules / 2 + page, 1, true).lists.size(), 1U);
            least = std::min(least, clock::now() - began);
        }
        return least;
    };
    const auto of_few = cost(200), of_many = cost(20'000);
    EXPECT_LT(of_many, 10 * of_few)
        << std::chrono::nanoseconds(of_many).count() << " ns and "
        << std::chrono::nanoseconds(of_few).count() << " ns for ten pages of a rule";
}

}  // namespace
}  // namespace turnpike
