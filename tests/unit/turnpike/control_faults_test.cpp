// SPDX-License-Identifier: BSD-3-Clause
// Failures in control do not affect the datapath: every allocation of a change fails once, and each
// time the change is refused completely, the running configuration stays, and no mbuf or next hop is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "control/management/control_calls.hpp"
#include "control/management/history.hpp"
#include "lib/eal.hpp"
#include "lib/failing_new.hpp"
#include "lib/own_namespace.hpp"
#include "lib/path_lab.hpp"
#include "route_targets.hpp"

namespace turnpike {
namespace {

using namespace test;

/// The nth allocation from here on fails, and only it.
void fail_at(long nth) {
    has_failed = false;
    fails_once = true;
    allocations_until_failure = nth - 1;
}
/// Whether it came to that.
bool failed_meanwhile() {
    allocations_until_failure = never;
    return has_failed;
}

std::string small(bool more) {
    return std::string("workers: ") + (more ? "[1, 2]" : "[1]") +
           "\nacl:\n  - {name: a, default: permit, rules: [" +
           (more ? "{action: deny, protocol: tcp}, {action: deny, protocol: 47}, " : "") +
           "{action: deny, protocol: udp, destination_ports: 7}]}\n" +
           "ports:\n  - {name: west, device: d0, rx_workers: [1], addresses: [10.0.1.254/24" +
           (more ? ", 10.0.7.1/24" : "") +
           "], acl: {in: a}}\n"
           "  - {name: east, device: d1, addresses: [10.0.2.254/24]}\n" +
           (more ? "interfaces: [{port: east, vlan: 100, addresses: [10.0.30.1/24]}]\n" : "") +
           "routes:\n  - {to: 10.9.0.0/16, via: 10.0.2.2}\n"
           "  - {to: 10.6.0.0/16, via: 192.0.2.1, recursive: true}\n"
           "  - {to: 192.0.2.0/24, via: " +
           (more ? "[10.0.2.2, 10.0.2.3]" : "10.0.2.2") + "}\n" +
           (more ? "  - {to: 10.8.0.0/16, via: 10.0.2.3}\n  - {to: 10.7.0.0/16, type: blackhole}\n"
                   "  - {to: 10.5.0.0/16, via: [192.0.2.1, 10.6.0.1], recursive: true}\n"
                 : "") +
           "neighbours:\n  max_entries: 16\n  static:\n"
           "    - {address: 10.0.2.2, mac: \"02:00:00:00:00:0d\"}\n" +
           (more ? "    - {address: 10.0.2.3, mac: \"02:00:00:00:00:0e\"}\n" : "");
}

byte_vector datagram(uint32_t destination) {
    return ethernet(0x0800, ipv4({.destination = destination}, udp(counted(4))),
                    {2, 0, 0, 0, 0, 0x0b}, {2, 0, 0, 0, 0, 0x0a});
}

/// A copy that memory ends for, at whatever step of changing it, leaves the set as it was.
TEST(control_faults, routes_of_a_copy) {
    const auto prefix = [](uint32_t n) { return ip_prefix{ip_address::from_v4(n << 8), 24}; };
    const auto target = [](uint32_t n) {
        return state::target_via(ip_address::from_v4(n), "east");
    };
    state::route_set set;
    for (uint32_t n = 0; n < 1000; ++n) set.set(prefix(2 * n), target(n % 3));
    bool failed = true;
    for (long nth = 1; failed; ++nth) {
        ASSERT_LT(nth, 10'000);
        state::route_set copy = set;
        fail_at(nth);
        try {
            for (uint32_t n = 0; n < 700; ++n)
                n % 3 == 0 ? void(copy.remove(prefix(n)))
                           : void(copy.set(prefix(n), target(n % 5)));
        } catch (const std::bad_alloc&) {
        }
        failed = failed_meanwhile();
        uint32_t n = 0;
        for (const state::route& r : set) {
            ASSERT_EQ(r.to, prefix(2 * n));
            ASSERT_EQ(set.targets()[r.target], target(n % 3));
            ++n;
        }
        ASSERT_EQ(n, 1000U);
    }
}

TEST(control_faults, every_allocation_of_a_change_may_fail) {
    path_lab l(small(false), 2);
    l.links(true);
    l.worker().start();
    const auto forwards = [&] {
        l.sent(1);
        EXPECT_TRUE(l.offer(0, datagram(0x0a09'0001)));
        for (int i = 0; i < 3; ++i) l.worker().poll();
        return std::ranges::count_if(l.sent(1), [](const byte_vector& f) {  // no announcements
            return f[12] == 0x08 && f[13] == 0 && f[30] == 10 && f[31] == 9;
        });
    };
    forwards();  // and announcements
    ASSERT_EQ(forwards(), 1);
    const auto number_of_members = [&] {
        return l.controller()
            .routing()
            .groups()
            .of_nexthop(l.controller().routing().routes().lookup(*parse_address("10.6.0.1")))
            .members.size();
    };
    unsigned refused = 0;
    for (long nth = 1;; ++nth) {
        std::shared_ptr<const state::configuration> wanted = l.read(small(true));
        l.worker().pause();
        fail_at(nth);
        const auto applied = l.controller().apply(std::move(wanted));
        const bool failed = failed_meanwhile();
        l.worker().resume();
        ASSERT_EQ(forwards(), 1) << nth;
        ASSERT_EQ(number_of_members(), applied ? 2U : 1U) << nth;
        if (!failed) {
            ASSERT_TRUE(applied) << applied.error().message();
            break;
        }
        if (!applied) {
            ++refused;
            EXPECT_EQ(l.controller().routing().routes().lookup(*parse_address("10.8.0.1")),
                      datapath::fixed_nexthop::no_route)
                << nth;
            EXPECT_EQ(l.controller().running().interfaces.find("east.100"), nullptr) << nth;
            continue;
        }
        // The failed allocation was optional; change back, and go on.
        ASSERT_TRUE(l.apply(small(false))) << nth;
    }
    EXPECT_GT(refused, 50U);
    EXPECT_EQ(l.controller().workers().all().size(), 2U);
    EXPECT_EQ(l.snapshot().queues[1].rx.size(), 2U) << "east's";
    EXPECT_EQ(l.snapshot()
                  .nexthops[l.controller().routing().routes().lookup(*parse_address("10.8.0.1"))]
                  .kind,
              datapath::nexthop_kind::adjacency);
    l.worker().finish();
}

/// The effects of a link's change on neighbours, addresses and bridges: the next poll repeats them.
TEST(control_faults, every_allocation_of_a_links_change_may_fail) {
    running_lab l(
        "ports:\n  - {name: west, device: d0, addresses: [10.0.1.254/24, \"2001:db8:1::fe/64\"]}\n"
        "  - {name: p, device: d1}\n"
        "bridges: [{name: lan, members: [{port: p}], addresses: [10.0.3.254/24]}]\n");
    const auto frames = [&] {
        size_t n = 0;
        for (const uint16_t port : std::initializer_list<uint16_t>{0, 1}) n += l.sent(port).size();
        return n;
    };
    const auto turn = [&](bool up, long nth) {
        fail_at(nth);
        try {
            l.links(up);
        } catch (const std::bad_alloc&) {
        }
        const bool failed = failed_meanwhile();
        l.links(up);
        l.settle();
        return failed;
    };
    constexpr long none = 1'000'000;
    turn(false, none);
    frames();
    turn(true, none);
    const size_t announced = frames();
    ASSERT_GT(announced, 3U);
    long nth = 1;
    for (bool failed = true; failed; ++nth) {
        ASSERT_LT(nth, 10'000);
        turn(false, none);
        frames();
        failed = turn(true, nth);
        ASSERT_GE(frames(), announced) << nth;
    }
    EXPECT_GT(nth, 3);
}

/// So many interfaces that a transaction would hold up control, one of them in the kernel.
std::string with_many_interfaces() {
    std::string out =
        "control_plane: {netlink: true}\n"
        "ports:\n  - {name: west, device: d0, addresses: [10.0.1.254/24], host_interface: true}\n"
        "interfaces:\n";
    for (int vlan = 1; vlan <= 60; ++vlan)
        out += "  - {port: west, vlan: " + std::to_string(vlan) + ", addresses: [10.1." +
               std::to_string(vlan) + ".1/24]}\n";
    return out;
}

/// With many interfaces, a transaction would hold up control. Management applies the kernel's change, as a whole or not at
/// all, and is asked again.
TEST(control_faults, every_allocation_of_what_management_learns_may_fail) {
    own_namespace apart;
    running_lab l(with_many_interfaces());
    control::controller& c = l.controller();
    const ip_prefix address = *parse_prefix("10.7.0.1/24");
    state::learned kernel;
    kernel.addresses["west"] = {address};
    const auto followed = [&] {
        const auto& known = c.running().interfaces.at("west").addresses;
        return std::find(known.begin(), known.end(), address) != known.end();
    };
    control::control_calls calls;
    c.set_managed(true);
    unsigned refused = 0;
    bool failed = true;
    for (long nth = 1; failed; ++nth) {
        ASSERT_LT(nth, 100'000);
        const auto begun = c.learn(kernel);
        ASSERT_TRUE(begun);
        ASSERT_FALSE(*begun);
        ASSERT_FALSE(followed()) << "not by control";
        l.worker().pause();
        fail_at(nth);
        c.repeat_beside(calls);
        failed = failed_meanwhile();
        l.worker().resume();
        const auto ended = c.learn(kernel);
        ASSERT_EQ(ended.has_value(), followed()) << nth;
        if (followed() && failed) {  // the failed allocation was optional: change back, and go on
            ASSERT_TRUE(*ended);
            c.set_managed(false);
            l.worker().pause();
            ASSERT_TRUE(c.learn({}));
            l.worker().resume();
            c.set_managed(true);
        }
        refused += !ended;
    }
    EXPECT_TRUE(followed());
    EXPECT_GT(refused, 50U);
    EXPECT_TRUE(*c.learn(kernel));
    c.set_managed(false);
}

/// While the management thread waits for a disk, it executes no transaction. Control applies the kernel's first change after a
/// second, and later ones at once, until that thread runs again.
TEST(control_faults, what_management_does_not_begin_is_learned_by_control) {
    own_namespace apart;
    running_lab l(with_many_interfaces());
    control::controller& c = l.controller();
    control::control_calls calls;
    const auto paused = [&](const auto& act) {
        l.worker().pause();
        act();
        l.worker().resume();
    };
    const auto pass = [&](int tenths) {
        for (int n = 0; n < tenths; ++n) paused([&] { l.control(100); });
    };
    const auto address = [](const char* verb) {
        return std::system(("ip addr " + std::string(verb) + " 10.7.0.1/24 dev west").c_str());
    };
    const auto followed = [&] {
        const auto& known = c.running().interfaces.at("west").addresses;
        return std::find(known.begin(), known.end(), *parse_prefix("10.7.0.1/24")) != known.end();
    };
    for (int n = 0; n < 100 && !c.host_interfaces().follower()->has_learned(); ++n) pass(1);
    pass(20);
    c.set_managed(true);
    ASSERT_EQ(address("add"), 0);
    pass(9);
    EXPECT_FALSE(followed()) << "management may take a second";
    pass(10);
    EXPECT_TRUE(followed());
    ASSERT_EQ(address("del"), 0);
    pass(3);
    EXPECT_FALSE(followed()) << "it is late, so control does not wait again";
    const uint64_t changes = c.changes();
    paused([&] { c.repeat_beside(calls); });
    EXPECT_EQ(c.changes(), changes) << "nothing is left to do";
    ASSERT_EQ(address("add"), 0);
    pass(3);
    EXPECT_FALSE(followed());
    paused([&] { c.repeat_beside(calls); });
    EXPECT_TRUE(followed()) << "by management";
    pass(3);
    c.set_managed(false);
}

/// A change is applied and rolls back unless it is confirmed, or it is refused.
TEST(control_faults, every_allocation_of_a_change_to_confirm_may_fail) {
    path_lab l(small(false), 2);
    control::control_calls calls;
    control::history history(l.controller(), calls);
    unsigned refused = 0;
    for (long nth = 1;; ++nth) {
        const std::shared_ptr<const state::configuration> wanted = l.read(small(true)),
                                                          before = history.states().front().state;
        const control::change_cause cause{
            .by = "an operator", .what = "change", .comment = "night"};
        fail_at(nth);
        bool applied = false;
        try {
            applied = history.apply(wanted, cause, std::chrono::seconds(60), {}).has_value();
        } catch (const std::bad_alloc&) {
        }
        const bool failed = failed_meanwhile();
        const bool is_new = l.controller().running().routes.size() != before->routes.size();
        ASSERT_EQ(applied, is_new) << nth;
        ASSERT_EQ(history.undone_in().has_value(), is_new) << nth;
        ASSERT_EQ(history.states().front().state, applied ? wanted : before) << nth;
        if (applied) {
            ASSERT_TRUE(history.rollback(1, "an operator", {})) << nth;
        }
        refused += !applied;
        if (failed) continue;
        EXPECT_TRUE(applied);
        break;
    }
    EXPECT_GT(refused, 50U);
}

/// One rule of both families replaced, and a route, while memory ends for good at some point: the
/// list judges both families by the old rule or by the new one, at the latest when memory is back.
TEST(control_faults, a_rule_is_changed_whole_or_not_at_all) {
    const auto config = [](bool after) {
        return std::string(
                   "acl:\n  - {name: a, default: permit, rules: [{action: deny, protocol: ") +
               (after ? "47" : "17") +
               "}]}\n"
               "ports:\n"
               "  - {name: west, device: d0, addresses: [10.0.1.254/24, \"2001:db8:1::fe/64\"], "
               "acl: {in: a}}\n"
               "  - {name: east, device: d1, addresses: [10.0.2.254/24, \"2001:db8:2::fe/64\"]}\n"
               "routes:\n  - {to: 10.9.0.0/16, via: 10.0.2.2}\n" +
               (after ? "  - {to: 10.8.0.0/16, via: 10.0.2.2}\n" : "") +
               "neighbours:\n  static:\n"
               "    - {address: 10.0.2.2, mac: \"02:00:00:00:00:0d\"}\n"
               "    - {address: \"2001:db8:2::2\", mac: \"02:00:00:00:00:0d\"}\n";
    };
    running_lab l(config(false));
    /// A UDP and a GRE packet of each family: the ones that pass.
    const auto passes = [&] {
        std::string seen;
        for (const uint8_t protocol : {uint8_t{17}, uint8_t{47}}) {
            const byte_vector upper = protocol == 17 ? udp(counted(4)) : counted(8);
            l.worker().poll();
            for (const byte_vector& f :
                 {ethernet(0x0800, ipv4({.protocol = protocol}, upper)),
                  ethernet(0x86dd, ipv6({.next_header = protocol}, upper))}) {
                l.sent(1);
                EXPECT_TRUE(l.offer(0, f));
                for (int i = 0; i < 3; ++i) l.worker().poll();
                seen += l.sent(1).empty() ? '-' : 'x';
            }
        }
        return seen;
    };
    const std::string before = "--xx", after = "xx--";
    ASSERT_EQ(passes(), before);
    unsigned refused = 0, completed = 0;
    for (long n = 1;; ++n) {
        std::shared_ptr<const state::configuration> wanted = l.read(config(true));
        l.worker().pause();
        has_failed = fails_once = false;
        allocations_until_failure = n;
        const auto applied = l.controller().apply(std::move(wanted));
        const bool failed = failed_meanwhile();
        l.worker().resume();
        const bool mixed = !applied && passes() != before;
        l.worker().pause();
        l.control(1000);
        l.worker().resume();
        completed += mixed;
        refused += !applied;
        ASSERT_EQ(passes(), applied ? after : before) << n;
        if (!failed) break;
        if (applied) {
            ASSERT_TRUE(l.apply(config(false))) << n;
        }
    }
    EXPECT_GT(refused, 50U);
    EXPECT_GT(completed, 0U) << "memory was always enough to take back: the test tests nothing";
}

/// Punted packets whose handling runs out of memory are dropped under a name.
TEST(control_faults, every_allocation_behind_a_punted_packet_may_fail) {
    path_lab l(small(false));
    l.links(true);
    l.worker().start();
    for (int i = 0; i < 3; ++i) l.worker().poll();
    l.sent(0), l.sent(1);
    for (long nth = 1;; ++nth) {
        const auto third = static_cast<uint32_t>(nth % 200);
        ASSERT_TRUE(l.offer(
            0,
            datagram(0x0a00'0220 + third)));  // a destination that needs a neighbour solicitation
        ASSERT_TRUE(l.offer(0, ethernet(0x0806, arp({}), byte_vector(6, 0xff))));
        l.worker().poll();
        fail_at(nth);
        l.control();
        const bool failed = failed_meanwhile();
        l.worker().poll();
        l.worker().poll();
        l.sent(0), l.sent(1);
        if (!failed) break;
    }
    EXPECT_GT(l.dropped(datapath::drop_reason::control_memory), 0U);
    l.worker().finish();
}

}  // namespace
}  // namespace turnpike
