// SPDX-License-Identifier: BSD-3-Clause
// ECMP groups: bucket assignment, flows that move when a link goes down and up, and packets through
// the real stages.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "control/routing/nexthop_groups.hpp"
#include "lib/eal.hpp"
#include "lib/path_lab.hpp"

namespace turnpike::control {
namespace {

using namespace test;
using datapath::nexthop_group;

std::vector<group_member> members_of(size_t n) {
    std::vector<group_member> out;
    for (size_t m = 0; m < n; ++m)
        out.push_back({.name = 0x1000 + m * 77, .nexthop = static_cast<uint32_t>(100 + m)});
    return out;
}

std::vector<uint32_t> shares(const nexthop_group& g) {
    std::vector<uint32_t> out(g.members);
    for (uint32_t b = 0; b < g.buckets(); ++b) ++out[g.bucket()[b]];
    return out;
}

TEST(nexthop_groups, buckets_are_shared_alike) {
    for (const size_t n : {2, 3, 16, 17, 256}) {
        const auto g = make_group(members_of(n), std::vector<bool>(n, true), {});
        EXPECT_EQ(g->buckets(), buckets_for(n));
        for (const uint32_t share : shares(*g)) {
            const double part = static_cast<double>(g->buckets()) / static_cast<double>(n);
            EXPECT_NEAR(share, part, 5 * std::sqrt(part)) << n;
        }
    }
}

TEST(nexthop_groups, by_their_weights) {
    auto members = members_of(3);
    members[1].weight = 2;
    members[2].weight = 5;
    const auto share = shares(*make_group(members, {true, true, true}, {}));
    EXPECT_NEAR(share[0], 512, 5 * 23);
    EXPECT_NEAR(share[1], 1024, 5 * 32);
    EXPECT_NEAR(share[2], 2560, 5 * 50);
}

TEST(nexthop_groups, who_is_lost_loses_only_its_own) {
    for (const size_t n : {2, 5, 64}) {
        auto members = members_of(n);
        for (size_t m = 0; m < n; ++m) members[m].weight = static_cast<uint16_t>(1 + m % 3);
        std::vector<bool> able(n, true);
        const auto all = make_group(members, able, {});
        able[1] = false;
        const auto without = make_group(members, able, {all.get()});
        const auto from_nothing = make_group(members, able, {});
        able[1] = true;
        const auto again = make_group(members, able, {});
        uint32_t moved = 0;
        std::map<uint8_t, uint32_t> heirs;
        for (uint32_t b = 0; b < all->buckets(); ++b) {
            ASSERT_EQ(without->bucket()[b], from_nothing->bucket()[b]) << "by another way";
            ASSERT_EQ(again->bucket()[b], all->bucket()[b]) << "as if nothing had been";
            if (without->bucket()[b] == all->bucket()[b]) continue;
            ASSERT_EQ(all->bucket()[b], 1);
            ++moved;
            ++heirs[without->bucket()[b]];
        }
        EXPECT_EQ(moved, shares(*all)[1]);
        // To all others, by chance: each of n - 1 heirs is without a bucket with a probability of exp(-moved / (n - 1)).
        const double chance = std::exp(-static_cast<double>(moved) / static_cast<double>(n - 1)),
                     expected = static_cast<double>(n - 1) * (1 - chance);
        EXPECT_NEAR(static_cast<double>(heirs.size()), expected,
                    4 * std::sqrt(static_cast<double>(n - 1) * chance) + 1e-6);
    }
}

TEST(nexthop_groups, a_new_one_takes_its_part_of_each) {
    const auto before = make_group(members_of(4), {true, true, true, true}, {});
    const auto after = make_group(members_of(5), {true, true, true, true, true}, {});
    uint32_t moved = 0;
    for (uint32_t b = 0; b < before->buckets(); ++b) {
        if (after->bucket()[b] == before->bucket()[b]) continue;
        ASSERT_EQ(after->bucket()[b], 4);
        ++moved;
    }
    EXPECT_NEAR(moved, 4096 / 5, 5 * 29);
}

/// Each bucket needs the scores of the holder and the newcomers, not of all 64 members.
TEST(nexthop_groups, a_member_that_comes_back_is_compared_with_the_holders_only) {
    for (const bool weighted : {false, true}) {
        auto members = members_of(64);
        for (size_t m = 0; weighted && m < members.size(); ++m)
            members[m].weight = static_cast<uint16_t>(1 + m % 3);
        std::vector<bool> able(64, true);
        able[9] = able[30] = able[31] = false;
        const std::vector<bool> before_able = able;
        const auto before = make_group(members, able, {});
        able[9] = able[31] = true;
        group_work work;
        const auto after = make_group(members, able, {before.get(), &before_able}, &work);
        EXPECT_EQ(work.scores, 3U * after->buckets());
        // One comes back while another goes.
        able[9] = false;
        able[30] = true;
        const std::vector<bool> then = [&] {
            auto out = before_able;
            out[9] = out[31] = true;
            return out;
        }();
        const auto both = make_group(members, able, {after.get(), &then});
        const auto from_nothing = make_group(members, able, {});
        for (uint32_t b = 0; b < after->buckets(); ++b)
            ASSERT_EQ(both->bucket()[b], from_nothing->bucket()[b]) << b;
    }
}

/// A logarithm costs as much as many scores.
TEST(nexthop_groups, few_logarithms_are_computed_of_members_with_weights) {
    for (const unsigned weights : {1U, 2U, 64U}) {
        auto members = members_of(64);
        for (size_t m = 0; m < members.size(); ++m)
            members[m].weight = static_cast<uint16_t>(1 + m % weights);
        group_work work;
        const auto made = make_group(members, std::vector<bool>(64, true), {}, &work);
        EXPECT_EQ(work.scores, 64U * made->buckets());
        EXPECT_LE(work.logarithms, weights == 1 ? 0U : 3 * made->buckets() / 2) << weights;
        // The share of each weight.
        std::map<uint16_t, double> share;
        double sum = 0;
        for (size_t m = 0; m < 64; ++m) {
            share[members[m].weight] += shares(*made)[m];
            sum += members[m].weight;
        }
        for (const auto& [weight, buckets] : share) {
            const double part = made->buckets() * weight * (64.0 / weights) / sum;
            EXPECT_NEAR(buckets, part, 5 * std::sqrt(part)) << weight;
        }
    }
}

/// And from none at all.
TEST(nexthop_groups, the_first_that_comes_back_has_all_buckets) {
    const auto members = members_of(5);
    std::vector<bool> able(5, false);
    const auto none = make_group(members, able, {});
    const std::vector<bool> before = able;
    able[3] = true;
    const auto one = make_group(members, able, {none.get(), &before});
    EXPECT_EQ(shares(*one)[3], one->buckets());
}

TEST(nexthop_groups, where_none_can_send_all_have_their_buckets) {
    const auto g = make_group(members_of(3), {false, false, false}, {});
    for (const uint32_t share : shares(*g)) EXPECT_GT(share, 1000U);
}

constexpr const char* box =
    "ports:\n"
    "  - {name: west, device: d0, addresses: [10.0.1.254/24, \"2001:db8:1::fe/64\"]}\n"
    "  - {name: east, device: d1, addresses: [10.0.2.254/24, \"2001:db8:2::fe/64\"]}\n"
    "  - {name: north, device: d2, addresses: [10.0.3.254/24]}\n"
    "  - {name: south, device: d3, addresses: [10.0.4.254/24]}\n"
    "routes: [ROUTE, {to: 10.7.0.0/16, type: prohibit}]\n"
    "neighbours:\n  static:\n"
    "    - {address: 10.0.1.1, mac: \"02:00:00:00:00:0a\"}\n"
    "    - {address: 10.0.2.2, mac: \"02:00:00:00:00:21\"}\n"
    "    - {address: 10.0.3.2, mac: \"02:00:00:00:00:31\"}\n"
    "    - {address: 10.0.4.2, mac: \"02:00:00:00:00:41\"}\n"
    "    - {address: \"2001:db8:2::2\", mac: \"02:00:00:00:00:26\"}\n";
constexpr const char* shared =
    "{to: 10.9.0.0/16, via: [10.0.2.2, 10.0.3.2, {via: 10.0.4.2, port: south}]}";

std::string box_with(const std::string& route) {
    std::string out = box;
    out.replace(out.find("ROUTE"), 5, route);
    return out;
}

class shared_route : public ::testing::Test {
  protected:
    explicit shared_route(const std::string& route = shared) : lab_(box_with(route)) {}
    void TearDown() override { lab_.check_balance(); }

    /// Flow i, and by which port it left (0: by none).
    uint16_t egress_of(uint16_t flow) {
        return egress_of(0x0a090000 + flow % 7, be(flow) + be(uint16_t{80}) + zeros(16));
    }
    uint16_t egress_of(uint32_t destination, const byte_vector& udp) {
        ipv4_fields f;
        f.source = 0x0a000101;
        f.destination = destination;
        for (uint16_t port = 1; port < 4; ++port)
            (void)lab_.sent(port);  // messages that we originate
        lab_.offer(0, ethernet(0x0800, ipv4(f, udp)));
        lab_.settle();
        uint16_t out = 0;
        for (uint16_t port = 1; port < 4; ++port) {
            const auto sent = lab_.sent(port);
            if (sent.empty()) continue;
            EXPECT_EQ(sent.size(), 1U);
            EXPECT_EQ(sent[0][5], 0x11 + port * 0x10) << "to the neighbour there";
            out = port;
        }
        return out;
    }
    std::vector<uint16_t> egress_ports() {
        std::vector<uint16_t> out;
        for (uint16_t flow = 0; flow < 300; ++flow) out.push_back(egress_of(flow));
        return out;
    }
    void link(uint16_t port, bool up) {
        const uint16_t ethdev = lab_.snapshot().port[port].ethdev_id;
        ASSERT_EQ(up ? rte_eth_dev_set_link_up(ethdev) : rte_eth_dev_set_link_down(ethdev), 0);
        lab_.controller().poll_links(++now_ms_);
        lab_.settle();  // messages that we originate then
    }

    running_lab lab_;
    uint64_t now_ms_ = 1'000'000;
};

TEST_F(shared_route, flows_go_by_all_ways_and_each_by_one) {
    const auto first = egress_ports();
    for (uint16_t port = 1; port < 4; ++port)
        EXPECT_NEAR(static_cast<double>(std::count(first.begin(), first.end(), port)), 100, 45);
    EXPECT_EQ(egress_ports(), first);
}

TEST_F(shared_route, a_link_that_goes_moves_its_flows_only_and_gets_them_back) {
    const auto before = egress_ports();
    link(2, false);
    const auto without = egress_ports();
    for (size_t flow = 0; flow < before.size(); ++flow) {
        EXPECT_NE(without[flow], 2) << flow;
        if (before[flow] != 2) {
            EXPECT_EQ(without[flow], before[flow]) << flow;
        }
    }
    link(2, true);
    EXPECT_EQ(egress_ports(), before);
}

/// A gateway behind a switch that is dead while the link is up.
class silent_gateway : public shared_route {
  protected:
    silent_gateway() : shared_route("{to: 10.99.0.0/16, type: blackhole}") {}
    void TearDown() override {
        pass(5000);  // until packets no longer wait
        for (uint16_t port = 0; port < 4; ++port) (void)lab_.sent(port);
        shared_route::TearDown();
    }
    void apply(const std::string& use_neigh) {
        std::string all = box_with("{to: 10.9.0.0/16, via: [10.0.2.9, 10.0.3.2]}") + use_neigh;
        all.replace(all.find("neighbours:\n"), 12,
                    "neighbours:\n  retransmit_ms: 10\n  negative_ms: 100\n");
        const auto applied = lab_.apply(all);
        ASSERT_TRUE(applied) << applied.error().message();
        lab_.settle();
    }
    void pass(int ms) {
        for (int t = 0; t < ms; t += 5) lab_.control(5);
        lab_.settle();
    }
    void answer() {
        const uint16_t east = lab_.controller().interfaces().indexes().at("east");
        lab_.controller().routing().neighbours().confirm(
            east, *parse_address("10.0.2.9"),
            {.mac = mac_address{{2, 0, 0, 0, 0, 0x21}}, .solicited = true}, 0);
        lab_.settle();
        for (uint16_t port = 0; port < 4; ++port) (void)lab_.sent(port);
    }
    size_t by(uint16_t port) {
        size_t n = 0;
        for (uint16_t flow = 0; flow < 100; ++flow) {
            (void)lab_.sent(port);
            lab_.offer(0, ethernet(0x0800, ipv4({.destination = 0x0a090000 + flow % 7U},
                                                be(flow) + be(uint16_t{80}) + zeros(16))));
            lab_.settle();
            for (const byte_vector& frame : lab_.sent(port))
                n += frame[12] == 8 && frame[13] == 0;  // not ARP
        }
        return n;
    }
};

TEST_F(silent_gateway, flows_leave_a_gateway_that_does_not_answer_and_come_back) {
    apply("ecmp: {use_neigh: both}\n");
    (void)by(1);
    pass(100);
    EXPECT_EQ(by(2), 100U);
    pass(2000);
    EXPECT_EQ(by(2), 100U) << "and is not tried with flows again";
    answer();
    pass(10);
    EXPECT_NEAR(static_cast<double>(by(1)), 50, 25);
}

/// Linux's default for IPv4.
TEST_F(silent_gateway, without_use_neigh_they_stay) {
    apply("");
    (void)by(1);
    pass(100);
    EXPECT_NEAR(static_cast<double>(by(2)), 50, 25);
    EXPECT_GT(lab_.dropped(datapath::drop_reason::neighbour_failed), 0U);
}

/// An error about a flow goes where the packets of that direction go.
TEST_F(shared_route, an_icmp_error_goes_by_the_way_of_the_flow_that_it_quotes) {
    std::set<uint16_t> seen;
    for (uint16_t flow = 0; flow < 60; ++flow) {
        // Flow: 10.0.1.1 to 10.9.0.x; the error quotes an answer, and a host on the way sends it.
        const uint32_t there = 0x0a090000 + flow % 7;
        const uint16_t egress = egress_of(flow);
        ipv4_fields answer;
        answer.source = there;
        answer.destination = 0x0a000101;
        const byte_vector quoted = ipv4(answer, be(uint16_t{80}) + be(flow) + zeros(16));
        ipv4_fields error;
        error.source = 0x0a000163;
        error.destination = there;
        error.protocol = 1;
        for (const bool slow : {false, true}) {
            error.options = slow ? byte_vector{1, 1, 1, 0} : byte_vector{};
            lab_.offer(
                0, ethernet(0x0800, ipv4(error, byte_vector{11, 0, 0, 0, 0, 0, 0, 0} + quoted)));
            lab_.settle();
            for (uint16_t port = 1; port < 4; ++port) {
                EXPECT_EQ(lab_.sent(port).size(), port == egress ? 1U : 0U) << flow << ' ' << port;
            }
        }
        seen.insert(egress);
    }
    EXPECT_EQ(seen.size(), 3U);
}

/// The table from before the loss is published again.
TEST_F(shared_route, a_link_that_comes_back_computes_nothing) {
    const auto before = egress_ports();
    link(2, false);
    const auto& groups = lab_.controller().routing().groups();
    const uint64_t scores = groups.scores();
    EXPECT_GT(scores, 0U);
    link(2, true);
    EXPECT_EQ(groups.scores(), scores);
    EXPECT_EQ(egress_ports(), before);
    // Two that go, and come back in the same order.
    link(1, false);
    link(3, false);
    for (uint16_t flow = 0; flow < 20; ++flow) EXPECT_EQ(egress_of(flow), 2);
    link(1, true);
    link(3, true);
    EXPECT_EQ(egress_ports(), before);
}

TEST_F(shared_route, members_come_and_go_by_a_change_and_the_seed_stays) {
    const auto before = egress_ports();
    ASSERT_TRUE(lab_.apply(box_with("{to: 10.9.0.0/16, via: [10.0.2.2, 10.0.4.2]}")));
    const auto without = egress_ports();
    for (size_t flow = 0; flow < before.size(); ++flow)
        if (before[flow] != 2) {
            EXPECT_EQ(without[flow], before[flow]) << flow;
        }
    (void)egress_of(1);
    const uint32_t nexthops = lab_.controller().nexthops().in_use();
    ASSERT_TRUE(lab_.apply(box_with(shared)));
    EXPECT_EQ(egress_ports(), before);
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(lab_.apply(box_with("{to: 10.9.0.0/16, via: [10.0.2.2, 10.0.4.2]}")));
        ASSERT_TRUE(lab_.apply(box_with(shared)));
    }
    ASSERT_TRUE(lab_.apply(box_with("{to: 10.9.0.0/16, via: [10.0.2.2, 10.0.4.2]}")));
    (void)egress_of(1);
    EXPECT_EQ(lab_.controller().nexthops().in_use(), nexthops) << "removed groups came back";
}

TEST_F(shared_route, another_seed_shares_anew) {
    const auto before = egress_ports();
    ASSERT_TRUE(lab_.apply(box_with(shared) + "ecmp: {seed: 4711}\n"));
    const auto after = egress_ports();
    size_t same = 0;
    for (size_t flow = 0; flow < before.size(); ++flow) same += before[flow] == after[flow];
    EXPECT_NEAR(static_cast<double>(same), 100, 45);
    ASSERT_TRUE(lab_.apply(box_with(shared) + "ecmp: {seed: 4711, hash: addresses}\n"));
    const auto by_addresses = egress_ports();
    for (size_t flow = 7; flow < before.size(); ++flow)
        ASSERT_EQ(by_addresses[flow], by_addresses[flow % 7]) << "seven pairs of addresses";
}

/// One outer flow: only hashing of inner headers spreads it, and only for the configured UDP ports.
TEST_F(shared_route, inner_looks_at_the_ports_that_are_named) {
    const auto ways_of = [&](uint16_t port, const std::string& ecmp) {
        EXPECT_TRUE(lab_.apply(box_with(shared) + ecmp));
        std::set<uint16_t> seen;
        for (uint16_t flow = 0; flow < 40; ++flow) {
            const byte_vector inner = ipv4({}, be(flow) + be(uint16_t{80}) + zeros(16));
            seen.insert(egress_of(
                0x0a090001, be(uint16_t{50000}) + be(port) +
                                be(static_cast<uint16_t>(8 + 8 + 14 + inner.size())) + zeros(2) +
                                byte_vector{8, 0, 0, 0, 0, 0, 9, 0} + ethernet(0x0800, inner)));
        }
        return seen.size();
    };
    EXPECT_EQ(ways_of(4789, "ecmp: {hash: inner}\n"), 3U);
    EXPECT_EQ(ways_of(8472, "ecmp: {hash: inner}\n"), 1U);
    EXPECT_EQ(ways_of(8472, "ecmp: {hash: inner, vxlan_ports: [4789, 8472]}\n"), 3U);
    EXPECT_EQ(ways_of(4789, "ecmp: {hash: inner, vxlan_ports: [8472]}\n"), 1U);
}

/// RFC 8950: IPv4 by a neighbour that has IPv6 only.
TEST_F(shared_route, ipv4_goes_by_an_ipv6_neighbour) {
    ASSERT_TRUE(lab_.apply(box_with("{to: 10.9.0.0/16, via: \"2001:db8:2::2\"}")));
    lab_.offer(0, ethernet(0x0800, ipv4({.destination = 0x0a090001},
                                        be(uint16_t{5}) + be(uint16_t{80}) + zeros(16))));
    lab_.settle();
    const auto sent = lab_.sent(1);
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0][5], 0x26);
    EXPECT_EQ(sent[0][12], 0x08);
}

TEST_F(shared_route, a_prohibited_destination_is_told) {
    lab_.offer(0, ethernet(0x0800, ipv4({.destination = 0x0a070001},
                                        be(uint16_t{5}) + be(uint16_t{80}) + zeros(16))));
    lab_.settle();
    EXPECT_EQ(lab_.dropped(datapath::drop_reason::route_prohibited), 1U);
    const auto errors = lab_.sent(0);
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0][34], 3);
    EXPECT_EQ(errors[0][35], 13) << "communication administratively prohibited";
}

}  // namespace
}  // namespace turnpike::control
