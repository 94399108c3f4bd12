// SPDX-License-Identifier: BSD-3-Clause
// Dumps of the kernel's state beside notifications, in a new network namespace. Oracle: a monitor that starts afterwards.
#include "control/routing/netlink_monitor.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>

#include "lib/failing_new.hpp"
#include "netlink/parse.hpp"

namespace turnpike::control {
namespace {

constexpr unsigned routes = 20'000;

/// Whether dumps are read beside follow(), as by another thread.
class netlink_monitor_test : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        if (::unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "needs its own network namespace";
        run({"link set lo up", "link add west type veth peer name end", "link set end up",
             "link set west up", "address add 192.0.2.1/24 dev west",
             // The end of duplicate address detection would be one more notification, at any time.
             "address add 2001:db8::1/64 dev west nodad"});
        ours_.interfaces = {{::if_nametoindex("west"), "west"}};
        std::vector<std::string> all;
        for (unsigned n = 0; n < routes; ++n) all.push_back("route add " + route(n, 2));
        run(all);
    }
    static std::string route(unsigned n, unsigned via) {
        return fmt::format("10.{}.{}.0/24 via 192.0.2.{}", n >> 8, n & 255, via);
    }
    /// Changes the kernel's state by commands of `ip`.
    static void run(const std::vector<std::string>& commands) {
        const std::string file = fmt::format("/tmp/netlink_monitor_test.{}", ::getpid());
        std::ofstream out(file);
        for (const std::string& c : commands) out << c << "\n";
        out.close();
        ASSERT_EQ(std::system(("ip -batch " + file).c_str()), 0);
        ::unlink(file.c_str());
    }
    [[nodiscard]] std::unique_ptr<netlink_monitor> start(unsigned receive_bytes = 8U << 20) {
        auto socket = netlink::link_socket::open(netlink_monitor::groups(), receive_bytes);
        EXPECT_TRUE(socket);
        auto out = std::make_unique<netlink_monitor>(std::move(*socket), ours_,
                                                     [this] { return now_ns_ += step_ns; });
        if (GetParam()) out->read_beside();
        return out;
    }
    void read(netlink_monitor& m) {
        auto r = m.plan_read(now_ms_);
        ASSERT_TRUE(!r || GetParam());
        if (!r) return;
        static_cast<void>(m.follow(now_ms_));
        ASSERT_FALSE(m.plan_read(now_ms_)) << "one at a time";
        m.read(*r);
        ASSERT_LE(r->datagrams.size(), netlink_monitor::socket_read::max_datagrams);
        m.adopt(std::move(*r), now_ms_);
    }
    /// One call of follow().
    void round(netlink_monitor& m) {
        now_ms_ += 5;
        read(m);
        const uint64_t begun_ns = now_ns_, before = m.counted().messages;
        static_cast<void>(m.follow(now_ms_));
        ++rounds_;
        longest_ns_ = std::max(longest_ns_, now_ns_ - begun_ns);
        max_messages_ = std::max(max_messages_, m.counted().messages - before);
    }
    void follow(netlink_monitor& m) {
        for (unsigned n = 0; n < 100'000; ++n) {
            round(m);
            if (!m.counted().asking && !m.has_more()) return;
        }
        FAIL() << "no end";
    }
    static void equal(const state::route_set& is, const state::route_set& kernel) {
        ASSERT_EQ(is.size(), kernel.size());
        for (const auto& r : kernel) {
            const state::route_target* const ours = is.find(r.to);
            ASSERT_NE(ours, nullptr) << r.to.text();
            ASSERT_TRUE(*ours == kernel.targets()[r.target]) << r.to.text();
        }
    }
    void equals_the_kernel(const netlink_monitor& m) {
        const auto fresh = start();
        follow(*fresh);
        const state::learned &is = m.learned(), &kernel = fresh->learned();
        equal(is.routes, kernel.routes);
        EXPECT_EQ(is.addresses, kernel.addresses);
        EXPECT_EQ(is.neighbours, kernel.neighbours);
        ASSERT_EQ(is.vrf_routes.size(), kernel.vrf_routes.size());
        for (const auto& [vrf, routes_of] : kernel.vrf_routes)
            equal(is.vrf_routes.at(vrf), routes_of);
    }
    /// More notifications than the socket holds.
    void lose_notifications(netlink_monitor& m) {
        const uint64_t before = m.counted().overruns;
        std::vector<std::string> all;
        for (unsigned n = 0; n < 3000; ++n) all.push_back("route del " + route(n, 2));
        for (unsigned n = 3000; n < 6000; ++n) all.push_back("route replace " + route(n, 3));
        for (unsigned n = 0; n < 1000; ++n) all.push_back("route add " + route(routes + n, 4));
        all.push_back("address add 198.51.100.1/24 dev west");
        all.push_back("address del 2001:db8::1/64 dev west");
        run(all);
        round(m);
        ASSERT_EQ(m.counted().overruns, before + 1);
    }

    static constexpr uint64_t step_ns = 100'000;  ///< by the clock at each look
    static constexpr unsigned small_buffer = 128U << 10;
    sources::netlink_rib::followed ours_{};
    uint64_t now_ns_ = 0, now_ms_ = 0, longest_ns_ = 0, max_messages_ = 0;
    unsigned rounds_ = 0;
};

/// Tests that choose the order of datagrams, which another thread has read.
class netlink_reads_test : public netlink_monitor_test {};

TEST_P(netlink_monitor_test, a_round_takes_a_millisecond) {
    const auto m = start(small_buffer);
    follow(*m);
    EXPECT_EQ(m->learned().routes.size(), routes);
    EXPECT_GT(rounds_, 3U);
    EXPECT_LE(longest_ns_, netlink_monitor::budget_ns + 2 * step_ns);
    EXPECT_LT(max_messages_, 8000U);
    lose_notifications(*m);
    rounds_ = 0;
    follow(*m);
    EXPECT_GT(rounds_, 15U) << "the sweep looks at the time, too";
    EXPECT_LE(longest_ns_, netlink_monitor::budget_ns + 2 * step_ns);
    EXPECT_EQ(m->counted().whole, 2U);
    equals_the_kernel(*m);
}

TEST_P(netlink_monitor_test, a_changed_nexthop_object_is_applied_in_rounds) {
    std::ofstream("/proc/sys/net/ipv4/nexthop_compat_mode") << 0;  // its routes are not notified
    std::vector<std::string> all{"nexthop add id 10 via 192.0.2.2 dev west"};
    for (unsigned n = 0; n < routes; ++n)
        all.push_back(fmt::format("route replace 10.{}.{}.0/24 nhid 10", n >> 8, n & 255));
    run(all);
    const auto m = start();
    follow(*m);
    for (const char* const change :
         {"nexthop replace id 10 via 192.0.2.3 dev west", "nexthop del id 10"}) {
        run({change});
        rounds_ = 0;
        longest_ns_ = 0;
        follow(*m);
        EXPECT_GT(rounds_, 10U) << change;
        EXPECT_LE(longest_ns_, netlink_monitor::budget_ns + 2 * step_ns);
        equals_the_kernel(*m);
    }
}

/// The RIB is created anew, and counts when all is dumped again.
TEST_P(netlink_monitor_test, out_of_memory) {
    EXPECT_TRUE(observe::logs(observe::log_level::notice)) << "reads its settings, once";
    const auto m = start();
    follow(*m);
    unsigned failures = 0;
    for (unsigned n = 0; n < 60; n += 4) {
        run({"route replace " + route(n, 5),
             "address add " + fmt::format("198.51.100.{}/32", n + 1) + " dev west"});
        try {
            static_cast<void>(test::with_allocations(n, [&] { return m->follow(now_ms_ += 5); }));
        } catch (const std::bad_alloc&) {
            ++failures;
            EXPECT_FALSE(m->has_learned());
        }
        follow(*m);
        ASSERT_TRUE(m->has_learned());
        equals_the_kernel(*m);
    }
    EXPECT_GT(failures, 5U);
}

/// A datagram that is received and cannot be stored may have the end of a reply: the dump is not awaited for ever.
TEST_P(netlink_reads_test, out_of_memory_beside) {
    using datagram = netlink_monitor::socket_read::datagram;
    EXPECT_TRUE(observe::logs(observe::log_level::notice)) << "reads its settings, once";
    unsigned lost = 0;
    for (unsigned n = 0; n < 24; ++n) {
        const auto m = start();
        for (unsigned part = 0; part < 6; ++part) {
            now_ms_ += 5;
            if (auto r = m->plan_read(now_ms_)) {
                test::with_allocations(n, [&] { m->read(*r); });
                const auto& all = r->datagrams;
                lost +=
                    static_cast<unsigned>(!all.empty() && all.back().is == datagram::not_stored);
                m->adopt(std::move(*r), now_ms_);
            }
            static_cast<void>(m->follow(now_ms_));
        }
        follow(*m);
        ASSERT_TRUE(m->has_learned()) << n;
        ASSERT_EQ(m->learned().routes.size(), routes) << n;
    }
    EXPECT_GT(lost, 5U);
}

/// The kernel has two equal IPv6 routes, of which one goes.
TEST_P(netlink_monitor_test, one_of_two_equal_routes_stays) {
    const std::string linked = "2001:db8:9::/48 dev west metric 100 proto static";
    run({"route add blackhole 2001:db8:9::/48 metric 100 proto static", "route append " + linked,
         "route replace " + linked});
    const auto m = start();
    follow(*m);
    const uint64_t parts = m->counted().parts;
    for (const unsigned left : {1U, 0U}) {
        run({"route del " + linked});
        for (unsigned n = 0; n < 3; ++n) round(*m);
        follow(*m);
        EXPECT_EQ(m->learned().routes.find(*parse_prefix("2001:db8:9::/48")) != nullptr, left != 0);
        equals_the_kernel(*m);
    }
    EXPECT_EQ(m->counted().parts, parts + 1) << "a dump after the first of them";
}

TEST_P(netlink_monitor_test, changes_during_a_dump_stay) {
    const auto m = start(small_buffer);
    follow(*m);
    lose_notifications(*m);
    const uint64_t whole = m->counted().whole;
    unsigned changes = 0;
    for (; m->counted().whole == whole && changes < 10'000; ++changes) {
        // In all phases, before and behind the place of the dump.
        const unsigned low = 7000 + changes, high = routes - 1 - changes;
        run({"route del " + route(low, 2), "route replace " + route(high, 5),
             "route add " + route(routes + 2000 + changes, 6),
             fmt::format(
                 "neighbour replace 192.0.2.{} lladdr 02:00:00:00:00:01 dev west nud permanent",
                 10 + changes % 200)});
        round(*m);
    }
    EXPECT_GT(changes, 15U);
    follow(*m);
    EXPECT_EQ(m->counted().overruns, 1U);
    equals_the_kernel(*m);
}

/// The kernel makes the parts of a reply without its RTNL lock (IPv4: Linux 6.9), under which it flushes routes silently:
/// parts made before may be queued behind the notification of the link.
TEST_P(netlink_reads_test, a_dump_beside_a_link_that_goes_down_is_repeated) {
    using socket_read = netlink_monitor::socket_read;
    const auto m = start();
    std::optional<socket_read> reply;
    const auto lists_routes = [&] {
        return reply && reply->type == RTM_GETROUTE && reply->family == AF_INET &&
               reply->of == RT_TABLE_MAIN;
    };
    for (unsigned n = 0; n < 1000 && !lists_routes(); ++n) {
        static_cast<void>(m->follow(now_ms_ += 5));
        reply = m->plan_read(now_ms_);
        if (reply) m->read(*reply);
        if (reply && !lists_routes()) m->adopt(std::move(*reply), now_ms_);
    }
    ASSERT_TRUE(lists_routes());
    socket_read late;
    std::swap(late.datagrams, reply->datagrams);
    late.is_done = true;
    ASSERT_GT(late.datagrams.size(), 10U);
    m->adopt(std::move(*reply), now_ms_);
    run({"link set west down"});
    reply = m->plan_read(now_ms_);
    ASSERT_TRUE(reply && !reply->asks);
    m->read(*reply);
    m->adopt(std::move(*reply), now_ms_);
    m->adopt(std::move(late), now_ms_);
    follow(*m);
    EXPECT_EQ(m->counted().whole, 1U);
    equals_the_kernel(*m);
    run({"link set west up"});
    for (unsigned n = 0; n < 3; ++n) round(*m);
    EXPECT_LT(m->learned().routes.size(), 10U) << "a daemon has not added them again";
    equals_the_kernel(*m);
}

/// IPv6 dumps skip routes beside such changes.
TEST_P(netlink_monitor_test, changes_during_an_ipv6_dump_stay) {
    const auto route6 = [](unsigned n) {
        return fmt::format("2001:db8:{:x}::/48 via 2001:db8::2", 0x1000 + n);
    };
    constexpr unsigned routes6 = 10'000;
    std::vector<std::string> all;
    for (unsigned n = 0; n < routes6; ++n) all.push_back("route add " + route6(n));
    run(all);
    const auto m = start();
    unsigned changes = 0;
    for (; m->counted().whole == 0 && changes < 5000; ++changes) {
        run({"route del " + route6(changes), "route add " + route6(routes6 + changes)});
        round(*m);
    }
    EXPECT_GT(changes, 10U);
    follow(*m);
    EXPECT_EQ(m->counted().overruns, 0U);
    equals_the_kernel(*m);
}

/// The kernel makes the parts of a reply, perhaps under its RTNL lock, while the socket is read.
TEST_P(netlink_monitor_test, follow_reads_replies_unless_another_thread_does) {
    const auto m = start();
    const auto follow_for_a_while = [&] {
        for (unsigned n = 0; n < 5; ++n) static_cast<void>(m->follow(now_ms_ += 5));
    };
    follow_for_a_while();
    EXPECT_EQ(m->counted().messages == 0, GetParam());
    if (!GetParam()) {
        follow(*m);
        return equals_the_kernel(*m);
    }
    // A read that is discarded is planned again.
    ASSERT_TRUE(m->plan_read(now_ms_));
    m->forget_read();
    auto r = m->plan_read(now_ms_);
    ASSERT_TRUE(r && !r->asks) << "the first request was sent at the start";
    run({"address add 198.51.100.1/24 dev west"});
    follow_for_a_while();
    EXPECT_EQ(m->counted().messages, 0U);
    m->read(*r);
    follow_for_a_while();
    EXPECT_EQ(m->counted().messages, 0U) << "in order";
    m->adopt(std::move(*r), now_ms_);
    EXPECT_TRUE(m->has_more());
    follow_for_a_while();
    EXPECT_GT(m->counted().messages, 2U);
    EXPECT_EQ(m->counted().parts, 1U);
    r = m->plan_read(now_ms_);
    ASSERT_TRUE(r && r->asks);
    m->read(*r);
    m->adopt(std::move(*r), now_ms_);
    follow(*m);
    EXPECT_EQ(m->counted().whole, 1U);
    equals_the_kernel(*m);
}

/// Sockets count their requests from 1, and a notification has the number of the request that caused it.
TEST_P(netlink_monitor_test, replies_have_the_port_id_of_the_socket) {
    auto asking = netlink::link_socket::open(netlink_monitor::groups(), small_buffer);
    auto daemon = netlink::link_socket::open({}, 0);
    ASSERT_TRUE(asking && daemon);
    EXPECT_NE(asking->port_id(), daemon->port_id());
    const uint32_t west = ::if_nametoindex("west");
    ASSERT_TRUE(daemon->add_address(west, *parse_prefix("198.51.100.1/24")));
    const auto request = asking->ask(RTM_GETADDR, AF_UNSPEC, west);
    ASSERT_TRUE(request);
    EXPECT_EQ(*request, 1U);
    std::map<uint32_t, unsigned> requesters;  // of addresses with the sequence number 1
    bool ended = false;
    std::vector<uint8_t> buffer(netlink::link_socket::datagram_bytes);
    while (!ended) {
        const auto got = asking->receive(buffer);
        ASSERT_TRUE(got && *got != 0);
        netlink::parse(std::span(buffer).first(*got), [&](netlink::message&& m) {
            if (m.sequence != 1) return;
            if (std::holds_alternative<netlink::done>(m.what)) {
                EXPECT_EQ(m.requester, asking->port_id());
                ended = true;
            } else if (std::holds_alternative<netlink::address>(m.what)) {
                ++requesters[m.requester];
            }
        });
    }
    EXPECT_EQ(requesters[daemon->port_id()], 1U) << "the notification";
    EXPECT_GE(requesters[asking->port_id()], 3U) << "the reply";
    EXPECT_EQ(requesters.size(), 2U);
}

TEST_P(netlink_monitor_test, a_new_vrf_dumps_its_table_only) {
    const auto m = start();
    follow(*m);
    run({"route add 10.1.0.0/16 via 192.0.2.7 table 77",
         "route add 2001:db8:1::/48 dev west table 77",
         "route add 10.2.0.0/16 via 192.0.2.7 table 78"});
    follow(*m);
    const auto before = m->counted();
    ours_.vrfs = {{77, "red"}};
    m->set_ours(ours_);
    follow(*m);
    EXPECT_EQ(m->counted().parts, before.parts + 2);
    EXPECT_LE(m->counted().messages, before.messages + 100) << "of 20,000 routes";
    EXPECT_EQ(m->learned().vrf_routes.at("red").size(), 2U);
    equals_the_kernel(*m);
}

INSTANTIATE_TEST_SUITE_P(order, netlink_reads_test, testing::Values(true));
INSTANTIATE_TEST_SUITE_P(reads, netlink_monitor_test, testing::Bool(), [](const auto& one) {
    return std::string(one.param ? "beside" : "in_follow");
});

}  // namespace
}  // namespace turnpike::control
