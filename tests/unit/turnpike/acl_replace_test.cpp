// SPDX-License-Identifier: BSD-3-Clause
// Lists are replaced while workers judge by them: each packet is judged by the old list or by the
// new one and counted once, and nothing is lost.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "lib/any_cpu.hpp"
#include "lib/eal.hpp"
#include "lib/path_lab.hpp"
#include "lib/sanitized.hpp"

namespace turnpike {
namespace {

using namespace test;

std::string with_list(const std::string& rules, const std::string& options = "") {
    return "acl:\n  - {name: a, " + options + "rules: [" + rules +
           "]}\nports:\n  - {name: west, device: d0, acl: {in: a}}\n"
           "  - {name: east, device: d1, acl: {out: a}}\nxconnects: [[west, east]]\n";
}

const observe::acl_rule_report& rule(const observe::acl_report& of, const std::string& name) {
    for (const auto& r : of.rules)
        if (r.name == name) return r;
    throw std::runtime_error("no rule " + name);
}

byte_vector datagram(uint16_t port) {
    byte_vector upper = udp(counted(4));
    store_be(&upper[2], port);
    return ethernet(0x0800, ipv4({}, upper));
}

TEST(acl_replace, counters_go_on_by_name) {
    path_lab l(
        with_list("{action: permit, name: web, protocol: udp, destination_ports: 80},"
                  "{action: deny, name: dns, protocol: udp, destination_ports: 53},"
                  "{action: permit, protocol: udp, destination_ports: 7}"));
    l.links(true);
    l.worker().start();
    const auto pass = [&] {
        for (const auto port : std::initializer_list<uint16_t>{80, 80, 53, 7, 9})
            ASSERT_TRUE(l.offer(0, datagram(port)));
        l.worker().poll();
        l.worker().poll();
    };
    const auto packets = [&](const char* name, size_t at = 0) {
        return rule(l.acls()[at], name).packets;
    };
    pass();
    EXPECT_EQ(l.sent(1).size(), 3U);
    ASSERT_TRUE(
        l.apply(with_list("{action: deny, name: dns, protocol: udp, destination_ports: 53},"
                          "{action: deny, name: echo, protocol: udp, destination_ports: 7},"
                          "{action: permit, name: web, protocol: udp, destination_ports: 80}",
                          "default: permit, ")));
    EXPECT_EQ(packets("web"), 2U);
    EXPECT_EQ(packets("dns"), 1U);
    EXPECT_EQ(packets("echo"), 0U) << "had no name before";
    EXPECT_EQ(packets("default"), 1U);
    EXPECT_EQ(l.acls()[0].rules[2].action, "deny");
    pass();
    l.control();
    EXPECT_EQ(packets("web"), 4U);
    EXPECT_EQ(packets("dns"), 2U);
    EXPECT_EQ(packets("echo"), 1U);
    EXPECT_EQ(packets("default"), 2U);
    EXPECT_EQ(packets("web", 1), 4U) << "east's own";
    EXPECT_EQ(packets("dns", 1), 0U) << "never came so far";
    const auto report = l.acls();
    EXPECT_EQ(report[0].permitted, 3U + 3U);
    EXPECT_EQ(report[0].denied, 2U + 2U);
    EXPECT_EQ(l.dropped(datapath::drop_reason::acl_deny), report[0].denied);
    EXPECT_EQ(l.dropped(datapath::drop_reason::acl_deny_out), report[1].denied);
    for (int i = 0; i < 5; ++i)
        ASSERT_TRUE(
            l.apply(with_list("{action: permit, name: web, protocol: udp, destination_ports: 80}",
                              i % 2 ? "memory_mb: 8, " : "")));
    EXPECT_EQ(packets("web"), 4U);
    pass();
    l.control();
    EXPECT_EQ(packets("web"), 6U);
    EXPECT_EQ(l.acls()[0].permitted, 8U);
    EXPECT_EQ(l.acls()[0].denied, 7U);
    l.sent(1);
    l.worker().finish();
}

std::string more_than_a_megabyte() {
    std::string rules;
    for (int i = 0; i < 14'000; ++i) {
        const std::string low = std::to_string(i / 1000) + ":" + std::to_string(i % 1000);
        rules += "{action: deny, protocol: udp, source: \"2001:db8::" + low +
                 "/128\", destination: \"2001:db8:1::" + low +
                 "/128\", destination_ports: " + std::to_string(i) + "},";
    }
    return rules;
}

TEST(acl_replace, what_cannot_be_changes_nothing) {
    path_lab l(with_list("{action: deny, name: web, protocol: udp, destination_ports: 80}",
                         "default: permit, "));
    l.links(true);
    l.worker().start();
    const std::string many = more_than_a_megabyte();
    const auto refused = l.apply(with_list(many, "memory_mb: 1, "));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ENOMEM);
    EXPECT_NE(refused.error().message().find("lab.yaml:2: access list 'a': its 14002 rules do "
                                             "not fit in memory_mb: 1"),
              std::string::npos)
        << refused.error().message();
    ASSERT_TRUE(l.offer(0, datagram(80)));
    ASSERT_TRUE(l.offer(0, datagram(81)));
    l.worker().poll();
    l.worker().poll();
    EXPECT_EQ(l.sent(1).size(), 1U);
    EXPECT_EQ(rule(l.acls()[0], "web").packets, 1U);
    EXPECT_TRUE(l.apply(with_list(many, "memory_mb: 64, ")));
    EXPECT_GT(l.acls()[0].bytes, 1u << 20);
    l.worker().finish();
}

/// No reader knows the lists of a change that is refused while they are compiled: they do not wait for one.
TEST(acl_replace, lists_of_a_refused_change_are_freed_at_once) {
    const auto domain = *rcu::qsbr::create("acls", 1);
    const control::acls lists(*domain);
    const auto config = sources::load_text(
        "acl:\n  - {name: a, rules: [{action: deny, protocol: udp}]}\n"
        "  - {name: b, memory_mb: 1, rules: [" +
            more_than_a_megabyte() +
            "]}\nports:\n  - {name: west, device: d0, acl: {in: a, out: b}}\n"
            "  - {name: east, device: d1}\nxconnects: [[west, east]]\n",
        "lab.yaml");
    ASSERT_TRUE(config) << config.error().message();
    const auto compiled = lists.compile_changed({}, {}, *config);
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().code, ENOMEM);
    EXPECT_EQ(domain->pending(), 0U);
}

// A change of one rule keeps the list, and so all other counters.
TEST(acl_replace, one_rule_changes_in_place) {
    const std::string first = "{action: permit, protocol: udp, destination_ports: 80},",
                      second = "{action: permit, protocol: udp, destination_ports: 81},",
                      new_one = "{action: deny, name: new, protocol: udp, destination_ports: 80},";
    path_lab l(with_list(first + second));
    l.links(true);
    l.worker().start();
    const auto pass = [&] {
        ASSERT_TRUE(l.offer(0, datagram(80)));
        ASSERT_TRUE(l.offer(0, datagram(81)));
        l.worker().poll();
        l.worker().poll();
    };
    const auto list_of = [&] {
        return l.snapshot().interfaces[l.snapshot().port[0].untagged].acl_in->list;
    };
    const auto by_vectors = [](const auto& list) {
        const acl::key4* const any = nullptr;
        return list->classifier(any).readers_view()->vectors != nullptr;
    };
    const auto before = list_of();
    const bool by_vectors_before = by_vectors(before);  // measured
    pass();
    EXPECT_EQ(l.sent(1).size(), 2U);
    ASSERT_TRUE(l.apply(with_list(new_one + first + second)));
    EXPECT_EQ(list_of(), before) << "compiled anew";
    EXPECT_EQ(by_vectors(list_of()), by_vectors_before) << "slower after a change";
    pass();
    EXPECT_EQ(l.sent(1).size(), 1U);
    const auto packets = [&](size_t ifindex) { return l.acls()[0].rules.at(ifindex).packets; };
    EXPECT_EQ(packets(1), 1U);
    EXPECT_EQ(packets(2), 1U) << "its counter goes on though it has no name";
    EXPECT_EQ(packets(3), 2U);
    ASSERT_TRUE(l.apply(with_list(first + second)));
    EXPECT_EQ(list_of(), before);
    pass();
    EXPECT_EQ(l.sent(1).size(), 2U);
    EXPECT_EQ(packets(1), 2U);
    EXPECT_EQ(l.acls()[0].denied, 1U) << "what a rule that is gone denied stays in the sum";
    ASSERT_TRUE(
        l.apply(with_list(first + "{action: deny, protocol: udp, destination_ports: 81},")));
    EXPECT_EQ(list_of(), before);
    pass();
    EXPECT_EQ(l.sent(1).size(), 1U);
    ASSERT_TRUE(l.apply(with_list(second)));
    EXPECT_NE(list_of(), before) << "two rules differ";
    l.worker().finish();
}

/// Rules that are added one at a time at one place, as doc/acl.md counts them: at the end, at 1, and in the middle before or
/// behind the last one.
TEST(acl_replace, hundreds_of_rules_are_added_at_one_place) {
    const auto domain = *rcu::qsbr::create("acls", 1);
    constexpr size_t rules = 50, added = 256;
    const auto rule_for = [](size_t port) {
        state::acl_rule out;
        out.match.destination_port.first = out.match.destination_port.last =
            static_cast<uint16_t>(port);
        return out;
    };
    state::acl_list first;
    for (size_t i = 0; i < rules; ++i) first.rules.push_back(rule_for(i));
    const std::pair<size_t, bool> places[] = {{rules, true},     {0, false},     {rules / 2, false},
                                              {rules / 2, true}, {rules, false}, {0, true}};
    for (const auto& place : places) {
        auto list = datapath::acl_list::compile(std::make_shared<const state::acl_list>(first),
                                                domain->hook());
        ASSERT_TRUE(list) << list.error().message();
        state::acl_list now = first;
        const auto add = [&](size_t n) {
            const size_t at = place.first + (place.second ? n : 0);
            now.rules.insert(now.rules.begin() + static_cast<std::ptrdiff_t>(at),
                             rule_for(1000 + n));
            return (*list)->change_one_rule(std::make_shared<const state::acl_list>(now));
        };
        for (size_t n = 0; n < added; ++n) {
            ASSERT_EQ(add(n), datapath::acl_list::one_rule::changed)
                << "rule " << n << " at " << place.first;
            domain->reclaim();
        }
        for (size_t i = 1; i < now.rules.size(); ++i)
            ASSERT_TRUE((*list)->above(datapath::acl_hit((*list)->id_at(i - 1), false),
                                       datapath::acl_hit((*list)->id_at(i), false)))
                << i << " of place " << place.first;
        EXPECT_EQ(add(added), datapath::acl_list::one_rule::as_it_was) << "no id is left";
    }
    domain->reclaim();
}

// A worker of its own thread between two ports, packets of 64 ports, and a list that denies the even
// ones or the odd ones in turn; with sanitizers, fewer times.
TEST(acl_replace, under_traffic_no_packet_is_lost) {
    path_lab l(with_list("{action: count, name: all}", "default: permit, "));
    l.links(true);
    std::string odd, even;
    for (int port = 0; port < 64; ++port)
        (port % 2 ? odd : even) += "{action: deny, name: p" + std::to_string(port) +
                                   ", protocol: udp, destination_ports: " + std::to_string(port) +
                                   "},";
    const std::string count = "{action: count, name: all},";
    const std::string lists[] = {with_list(count + odd, "default: permit, "),
                                 with_list(count + even, "default: permit, ")};
    std::atomic<bool> stop{false};
    l.workers_have_threads();
    std::thread worker([&] {
        run_anywhere();
        l.worker().run(stop);
    });
    const uint64_t packets = sanitized ? 20'000 : 100'000, times = packets / 500;
    uint64_t offered = 0, left = 0, replaced = 0;
    std::array<uint64_t, 64> passed{};
    const auto receive_all = [&] {
        while (rte_mbuf* m = l.next_sent(1)) {
            ++passed[load_be<uint16_t>(rte_pktmbuf_mtod_offset(m, const uint8_t*, 36))];
            ++left;
            rte_pktmbuf_free(m);
        }
    };
    while (offered < packets || replaced < times) {
        for (uint16_t i = 0; i < 64; ++i) offered += l.offer(0, datagram(i));
        receive_all();
        if (offered / 400 > replaced) {
            ASSERT_TRUE(l.apply(lists[replaced++ % 2]));
            l.control();
        }
        std::this_thread::yield();
    }
    while (l.worker().port(0).rx_packets.read() < offered) {
        receive_all();
        std::this_thread::yield();
    }
    stop.store(true);
    worker.join();
    receive_all();
    const auto report = l.acls();
    EXPECT_EQ(l.dropped(datapath::drop_reason::tx_refused), 0U);
    EXPECT_EQ(report[0].permitted + report[0].denied, offered);
    EXPECT_EQ(report[1].permitted + report[1].denied, report[0].permitted);
    EXPECT_EQ(report[1].permitted, left);
    EXPECT_EQ(l.dropped(datapath::drop_reason::acl_deny), report[0].denied);
    EXPECT_EQ(l.dropped(datapath::drop_reason::acl_deny_out), report[1].denied);
    EXPECT_EQ(rule(report[0], "all").packets, offered);
    for (const uint64_t n : passed) EXPECT_GT(n, 0U);
    EXPECT_GT(report[0].denied, offered / 10);
}

}  // namespace
}  // namespace turnpike
