// SPDX-License-Identifier: BSD-3-Clause
// The tables are lent to another thread: packets that need none of them are handled meanwhile, others afterwards, and none is
// lost. The threads share no data otherwise (TSan).
#include <ethdev_driver.h>
#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "control/management/control_calls.hpp"
#include "control/management/show.hpp"
#include "lib/eal.hpp"
#include "packet/ipv6.hpp"
#include "packet/nd.hpp"
#include "reload_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using control::control_calls;

class loan : public testing::Test {
  public:
    loan()
        : loan(router("{to: 10.9.0.0/16, via: 10.0.2.2}",
                      "    - {address: 10.0.1.1, mac: \"02:00:00:00:00:0a\"}\n")) {}

  protected:
    explicit loan(const std::string& configuration) : l_(configuration) {}
    static constexpr uint32_t us = 0x0a0001fe;
    /// Replies at west by kind.
    struct replies {
        unsigned echo = 0, ttl = 0, arp = 0, arp_requests = 0;
    };

    void count_replies() {
        for (const byte_vector& f : l_.sent(0)) {
            const bool icmp = f[12] == 0x08 && f[13] == 0 && f[23] == 1;
            got_.echo += icmp && f[34] == 0;
            got_.ttl += icmp && f[34] == 11;
            const bool arp = f[12] == 0x08 && f[13] == 6;
            got_.arp += arp && f[21] == 2;
            // Not the announcement of an own address, whose sender and target are equal.
            got_.arp_requests += arp && f[21] == 1 && !std::equal(&f[28], &f[32], &f[38]);
        }
    }
    /// Lends the tables; ten iterations later, answers the replies until then.
    /// first  run when they are lent
    /// in_each_round  run in each of the iterations
    replies during_a_loan(
        const std::function<void()>& first, const std::function<void()>& in_each_round = [] {}) {
        std::atomic<bool> lent{false}, enough{false};
        replies meanwhile;
        beside_control(
            [&] {
                l_.controller().with_loan(calls_, [&] {
                    lent = true;
                    while (!enough) std::this_thread::yield();
                });
            },
            [&, rounds = 0]() mutable {
                if (!lent || enough) return;
                if (rounds == 0) first();
                in_each_round();
                count_replies();
                if (++rounds < 10) return;
                meanwhile = got_;
                enough = true;
            });
        return meanwhile;
    }
    /// Runs `f` on a second thread, as management, while this thread is the worker and control in turns.
    template <class F>
    void beside_control(
        const F& f, const std::function<void()>& in_each_round = [] {}) {
        std::atomic<bool> done{false};
        calls_.connect();
        std::thread management([&] {
            f();
            done = true;
        });
        while (!done) {
            l_.worker().poll();
            l_.worker().pause();
            l_.control();
            calls_.serve();
            l_.worker().resume();
            in_each_round();
        }
        management.join();
        calls_.connect(false);
        l_.settle();
        count_replies();
    }

    const byte_vector ping_ =
        ethernet(0x0800, ipv4({.protocol = 1, .destination = us}, icmp4(8, 0, counted(12))));
    const byte_vector expired_ =
        ethernet(0x0800, ipv4({.ttl = 1, .destination = 0x0a090001}, udp(counted(4))));
    const byte_vector to_no_port_ = ethernet(0x0800, ipv4({.destination = us}, udp(counted(4))));
    const byte_vector arp_request_ =
        ethernet(0x0806, arp({}), {0xff, 0xff, 0xff, 0xff, 0xff, 0xff});
    lab l_;
    control_calls calls_{};
    replies got_{};
};

TEST_F(loan, answers_pings_and_arp_meanwhile_and_learns_afterwards) {
    const replies meanwhile = during_a_loan([&] {
        EXPECT_TRUE(l_.offer(0, ping_));
        EXPECT_TRUE(l_.offer(0, expired_));
        EXPECT_TRUE(l_.offer(0, arp_request_));
    });
    EXPECT_EQ(meanwhile.echo, 1U);
    EXPECT_EQ(meanwhile.ttl, 1U);
    EXPECT_EQ(meanwhile.arp, 1U);
    EXPECT_EQ(got_.echo, 1U);
    EXPECT_EQ(got_.arp, 1U) << "answered once";
}

/// West is a port of a bridge, and its tunnel has neigh_suppress.
class loan_of_a_bridge : public loan {
  public:
    loan_of_a_bridge()
        : loan(
              "ports:\n  - {name: west, device: d0}\n"
              "  - {name: east, device: d1, addresses: [10.0.9.1/24]}\n"
              "neighbours:\n  static: [{address: 10.0.9.2, mac: \"02:00:00:00:09:02\"}]\n"
              "tunnels:\n  - {name: t2, vni: 100, local: 10.0.9.1, remote: 10.0.9.2}\n"
              "bridges:\n  - {name: lan, members: [{port: west}, {port: t2, neigh_suppress: "
              "true}]}\n") {}
};

TEST_F(loan_of_a_bridge, requests_are_answered_meanwhile_for_a_host_behind_a_tunnel) {
    constexpr uint32_t asker = 0x0a010001, far = 0x0a010002;
    const byte_vector far_mac{2, 0, 0, 0, 1, 2}, everybody(6, 0xff);
    const auto message = [&](uint32_t from, uint32_t to, const byte_vector& mac) {
        return ethernet(0x0806,
                        arp({.operation = 1,
                             .sender_mac = mac,
                             .sender_ip = from,
                             .target_mac = zeros(6),
                             .target_ip = to}),
                        everybody, mac);
    };
    const byte_vector inner = message(far, far, far_mac);
    EXPECT_TRUE(
        l_.offer(1, ethernet(0x0800,
                             ipv4({.source = 0x0a000902, .destination = 0x0a000901},
                                  be(uint16_t{50000}) + be(uint16_t{4789}) +
                                      be(static_cast<uint16_t>(16 + inner.size())) + zeros(2) +
                                      be(uint32_t{0x0800'0000}) + be(uint32_t{100 << 8}) + inner),
                             {2, 0, 0, 0, 0, 0x0c}, {2, 0, 0, 0, 9, 2})));
    l_.settle();
    const replies meanwhile = during_a_loan([&] {
        EXPECT_TRUE(l_.offer(0, message(asker, far, {2, 0, 0, 0, 1, 1})));
    });
    EXPECT_EQ(meanwhile.arp, 1U);
    EXPECT_EQ(got_.arp, 1U) << "answered once";
}

TEST_F(loan, answers_solicitations_meanwhile_and_learns_afterwards) {
    l_.control(2'000);  // no address is tentative any more
    l_.settle();
    (void)l_.sent(1);
    const auto advertisements = [&] {
        unsigned n = 0;
        for (const byte_vector& f : l_.sent(1)) n += f[12] == 0x86 && f[20] == 58 && f[54] == 136;
        return n;
    };
    const mac_address mac{{2, 0, 0, 0, 0, 0x77}};
    const ip_address asker = *parse_address("2001:db8:2::77");
    byte_vector frame(packet::nd_frame_bytes);
    frame.resize(packet::write_neighbour_solicitation(frame, {mac, asker.v6_bytes()},
                                                      parse_address("2001:db8:2::fe")->v6_bytes()));
    unsigned meanwhile = 0;
    static_cast<void>(during_a_loan([&] { EXPECT_TRUE(l_.offer(1, frame)); },
                                    [&] { meanwhile += advertisements(); }));
    EXPECT_EQ(meanwhile, 1U);
    EXPECT_EQ(advertisements(), 0U) << "answered once";
    EXPECT_TRUE(l_.controller().routing().neighbours().knows(
        l_.controller().interfaces().indexes().at("east"), asker));
}

/// Duplicate address detection goes on, and ends, during the loan: the claim counts at once.
TEST_F(loan, an_address_that_another_node_claims_meanwhile_is_not_used) {
    for (const bool up : {false, true}) l_.links(up);  // it is tentative again
    l_.settle();
    (void)l_.sent(1);
    const ipv6_address us6 = parse_address("2001:db8:2::fe")->v6_bytes();
    byte_vector claim(packet::nd_frame_bytes);
    const mac_address stranger{{2, 0, 0, 0, 0, 0x77}};
    claim.resize(packet::write_neighbour_advertisement(claim, {stranger, us6},
                                                       {broadcast_mac, packet::ipv6_unspecified},
                                                       packet::nd_flag_override));
    unsigned taken = 0, round = 0;
    const auto count_taken = [&] {
        for (const byte_vector& f : l_.sent(1))
            taken += f[12] == 0x86 && f[20] == 58 && f[54] == 136 && (f[58] & 0x20) != 0 &&
                     std::equal(us6.bytes, us6.bytes + sizeof us6.bytes, &f[62]);
    };
    static_cast<void>(during_a_loan([&] { EXPECT_TRUE(l_.offer(1, claim)); },
                                    [&] {
                                        if (++round == 6) l_.control(1'001);
                                        count_taken();
                                    }));
    count_taken();
    EXPECT_EQ(taken, 0U);
    const ipv6_address asker = parse_address("2001:db8:2::77")->v6_bytes();
    const byte_vector from(asker.bytes, asker.bytes + 16), to(us6.bytes, us6.bytes + 16);
    byte_vector echo = ethernet(0x86dd, ipv6({.next_header = 58, .source = from, .destination = to},
                                             icmp6(128, 0, counted(12), from, to)));
    echo[5] = 0x0c;  // east's MAC address
    EXPECT_TRUE(l_.offer(1, echo));
    l_.settle();
    EXPECT_EQ(l_.dropped(datapath::drop_reason::duplicate_address), 1U);
}

TEST_F(loan, a_reply_to_an_unresolved_neighbour_waits) {
    constexpr uint32_t stranger = 0x0a00014d;
    const replies meanwhile = during_a_loan([&] {
        EXPECT_TRUE(l_.offer(
            0, ethernet(0x0800, ipv4({.protocol = 1, .source = stranger, .destination = us},
                                     icmp4(8, 0, counted(12))))));
    });
    EXPECT_EQ(meanwhile.arp_requests, 0U);
    EXPECT_EQ(got_.arp_requests, 1U) << "resolved afterwards";
    EXPECT_EQ(got_.echo, 0U);
    EXPECT_EQ(l_.controller().routing().neighbours().pending(), 1U);
}

TEST_F(loan, ends_if_the_work_fails) {
    beside_control([&] {
        EXPECT_THROW(l_.controller().with_loan(
                         calls_, []() -> int { throw std::runtime_error("out of order"); }),
                     std::runtime_error);
    });
    EXPECT_TRUE(l_.offer(0, arp_request_));
    l_.settle();
    count_replies();
    EXPECT_EQ(got_.arp, 1U);
}

TEST_F(loan, each_subject_of_show_beside_packets_and_drops) {
    const nlohmann::json subjects = control::show_help();
    unsigned pings = 0, rounds = 0;
    beside_control(
        [&] {
            for (unsigned n = 0; n < 3; ++n)
                for (const auto& [what, help] : subjects.items()) {
                    nlohmann::json asked = {{"request", "show"}, {"what", what}};
                    if (what == "route") asked["address"] = "10.9.0.1";
                    const nlohmann::json shown = l_.controller().with_loan(calls_, [&] {
                        return show(l_.controller(), control::request_fields(asked));
                    });
                    EXPECT_TRUE(shown.is_object()) << what;
                }
        },
        [&] {
            if (++rounds % 2 == 0 && pings < 50) pings += l_.offer(0, ping_);
            if (rounds % 5 == 0) static_cast<void>(l_.offer(0, to_no_port_));
            count_replies();
        });
    EXPECT_GT(pings, 0U);
    EXPECT_EQ(got_.echo, pings);
}

// Control waits for management at the end of a run: it executes calls, but has no iterations.
TEST_F(loan, a_grace_period_passes_while_control_only_waits) {
    std::atomic<bool> done{false};
    calls_.connect();
    std::thread management([&] {
        l_.controller().with_loan(
            calls_, [&] { const_cast<rcu::qsbr&>(l_.controller().rcu()).synchronize(); });
        done = true;
    });
    l_.worker().pause();
    while (!done) {
        calls_.serve();
        l_.controller().pass_as_reader();
    }
    l_.worker().resume();
    management.join();
    calls_.connect(false);
}

TEST_F(loan, lists_are_replaced_beside_pings) {
    const auto with_list = [](unsigned n) {
        std::string all = router("{to: 10.9.0.0/16, via: 10.0.2.2}",
                                 "    - {address: 10.0.1.1, mac: \"02:00:00:00:00:0a\"}\n"
                                 "acl:\n  - name: a\n    rules:\n");
        // Sizes differ by one rule, and by several.
        for (unsigned rule = 0; rule < 2 + n % 3 * n; ++rule)
            all += "      - {action: deny, protocol: tcp, destination_ports: " +
                   std::to_string(rule + 1) + "}\n";
        all += "      - {action: permit}\n";
        const std::string port = "device: d0,";
        return all.replace(all.find(port), port.size(), port + " acl: {in: a},");
    };
    std::vector<std::shared_ptr<const state::configuration>> wanted;
    for (unsigned n = 0; n < 20; ++n) wanted.push_back(l_.read(with_list(n)));
    unsigned pings = 0;
    beside_control(
        [&] {
            for (const auto& to : wanted) {
                const auto came = l_.controller().apply_beside(calls_, to, {});
                ASSERT_TRUE(came) << came.error().message();
            }
        },
        [&] {
            if (pings == 50) return;
            pings += l_.offer(0, ping_);
            count_replies();
        });
    EXPECT_EQ(got_.echo, pings);
    EXPECT_TRUE(l_.offer(0, ping_));
    l_.settle();
    const auto lists = l_.acls();
    ASSERT_EQ(lists.size(), 1U);
    // The last list's: tiny-fragment, 21, permit, neighbour-discovery, default.
    EXPECT_EQ(lists[0].rules.size(), 25U);
    EXPECT_EQ(lists[0].denied, 0U);
    EXPECT_GE(lists[0].permitted, 1U);
}

TEST_F(loan, changes_beside_pings_lose_none) {
    constexpr unsigned changes = 20;
    unsigned pings = 0;
    const auto routes = [](unsigned n) {
        std::string out = "{to: 10.9.0.0/16, via: 10.0.2.2}";
        for (unsigned i = 0; i < 200; ++i)
            out += ", {to: 10." + std::to_string(10 + n % 4) + "." + std::to_string(i) +
                   ".0/24, via: 10.0.2.2}";
        return out;
    };
    std::vector<std::shared_ptr<const state::configuration>> wanted;
    for (unsigned n = 0; n < changes; ++n)
        wanted.push_back(
            l_.read(router(routes(n), "    - {address: 10.0.1.1, mac: \"02:00:00:00:00:0a\"}\n")));
    beside_control(
        [&] {
            for (const auto& to : wanted) {
                const auto came = l_.controller().apply_beside(calls_, to, {});
                ASSERT_TRUE(came) << came.error().message();
                EXPECT_GE(came->route_count(), 200U);
            }
        },
        [&] {
            if (pings == 50) return;
            pings += l_.offer(0, ping_);
            count_replies();
        });
    EXPECT_GT(pings, 0U);
    EXPECT_EQ(got_.echo, pings);
    EXPECT_EQ(l_.egress_port("10.9.0.1"), 1U);
    EXPECT_EQ(l_.egress_port("10.13.7.1"), 1U) << "the last configuration counts";
    EXPECT_EQ(l_.egress_port("10.12.7.1"), std::nullopt);
}

TEST_F(loan, a_refused_change_leaves_what_was) {
    beside_control([&] {
        const std::shared_ptr<const state::configuration> wanted = l_.read(router(
            "{to: 10.9.0.0/16, via: 10.0.2.2}, {to: 10.8.0.0/16, via: 10.0.3.2}", "",
            "10.0.1.254/24", "  - {name: north, device: nowhere, addresses: [10.0.3.254/24]}\n"));
        const auto came = l_.controller().apply_beside(calls_, wanted, {});
        ASSERT_FALSE(came);
        EXPECT_NE(came.error().message().find("port 'north'"), std::string::npos)
            << came.error().message();
    });
    EXPECT_EQ(l_.egress_port("10.9.0.1"), 1U);
}

/// A device's driver may wait for the kernel while it is closed.
TEST_F(loan, an_unplugged_device_is_closed_by_management) {
    std::vector<std::thread::id> closers;
    const auto note = [](uint16_t, rte_eth_event_type, void* to, void*) {
        static_cast<std::vector<std::thread::id>*>(to)->push_back(std::this_thread::get_id());
        return 0;
    };
    const std::string routed = router("{to: 10.9.0.0/16, via: 10.0.2.2}",
                                      "    - {address: 10.0.1.1, mac: \"02:00:00:00:00:0a\"}\n");
    auto wanted = l_.read(routed);
    wanted->ports.add("north", {.device = "net_null_n,no-rx=1"});
    wanted->interfaces.add("north",
                           {.port = "north", .addresses = {*parse_prefix("10.0.3.254/24")}});
    const std::shared_ptr<const state::configuration> with = std::move(wanted),
                                                      as_before = l_.read(routed);
    auto& control = l_.controller();
    const auto north = [&]() -> const control::open_port& {
        return **std::find_if(control.ports().open().begin(), control.ports().open().end(),
                              [](const auto& p) { return p->name == "north"; });
    };
    control.set_managed(true);
    std::thread::id management;
    beside_control([&] {
        management = std::this_thread::get_id();
        const auto opened = control.apply_beside(calls_, with, {});
        ASSERT_TRUE(opened) << opened.error().message();
        const uint16_t id = calls_.run([&] { return north().device.id(); });
        ASSERT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_DESTROY, note, &closers),
                  0);
        rte_eth_dev_callback_process(&rte_eth_devices[id], RTE_ETH_EVENT_INTR_RMV, nullptr);
        while (!calls_.run([&] { return north().lost; })) std::this_thread::yield();
        EXPECT_TRUE(closers.empty());
        EXPECT_FALSE(calls_.run([&] { return north().device.driver(); }).empty());
        control.close_vanished(calls_);
        rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_DESTROY, note, &closers);
        EXPECT_EQ(closers, std::vector{management});
        ASSERT_TRUE(control.apply_beside(calls_, as_before, {}));
    });
    control.set_managed(false);
    EXPECT_EQ(l_.egress_port("10.9.0.1"), 1U);
}

/// A device may take seconds to open.
TEST_F(loan, ports_closed_for_a_refused_change_are_reopened_by_management) {
    std::vector<std::thread::id> openers;
    const auto note = [](uint16_t, rte_eth_event_type, void* to, void*) {
        static_cast<std::vector<std::thread::id>*>(to)->push_back(std::this_thread::get_id());
        return 0;
    };
    ASSERT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_NEW, note, &openers), 0);
    const std::string routed = router("{to: 10.9.0.0/16, via: 10.0.2.2}",
                                      "    - {address: 10.0.1.1, mac: \"02:00:00:00:00:0a\"}\n");
    const auto with = [&](const std::string& arguments) {
        auto wanted = l_.read(routed);
        wanted->ports.add("north", {.device = "net_null_n,no-rx=1" + arguments});
        wanted->interfaces.add("north",
                               {.port = "north", .addresses = {*parse_prefix("10.0.3.254/24")}});
        return std::shared_ptr<const state::configuration>(std::move(wanted));
    };
    const std::shared_ptr<const state::configuration> as_before = l_.read(routed);
    const auto good = with(""), bad = with(",bogus=1");
    const auto& shown = l_.controller();
    unsigned pings = 0;
    std::thread::id management;
    beside_control(
        [&] {
            management = std::this_thread::get_id();
            const auto opened = l_.controller().apply_beside(calls_, good, {});
            ASSERT_TRUE(opened) << opened.error().message();
            const uint64_t changes = shown.changes();
            openers.clear();
            const auto refused = l_.controller().apply_beside(calls_, bad, {});
            ASSERT_FALSE(refused);
            EXPECT_NE(refused.error().text.find("with reopened ports: 'north'"), std::string::npos)
                << refused.error().text;
            EXPECT_EQ(shown.changes(), changes);
            EXPECT_EQ(openers, std::vector{management});
            const auto again = l_.controller().apply_beside(calls_, good, {});
            ASSERT_TRUE(again) << again.error().message();
            EXPECT_TRUE(again->empty()) << "it runs";
            ASSERT_TRUE(l_.controller().apply_beside(calls_, as_before, {}));
        },
        [&] {
            if (pings == 50) return;
            pings += l_.offer(0, ping_);
            count_replies();
        });
    rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_NEW, note, &openers);
    EXPECT_GT(pings, 0U);
    EXPECT_EQ(got_.echo, pings);
    EXPECT_EQ(l_.egress_port("10.9.0.1"), 1U);
}

}  // namespace
}  // namespace turnpike
