// SPDX-License-Identifier: BSD-3-Clause
// Duplicate address detection at link up: messages sent, their times and sources, with simulated
// time. Another node's claim disables the address.
#include "control/slow_path/dad.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "lib/eal.hpp"
#include "lib/path_lab.hpp"
#include "packet/ipv6.hpp"
#include "packet/mld.hpp"
#include "packet/nd.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;

ipv6_address address(const char* text) { return parse_address(text)->v6_bytes(); }
byte_vector bytes(const ipv6_address& a) { return {a.bytes, a.bytes + sizeof a.bytes}; }

const ipv6_address us = address("2001:db8:1::fe"), us_near = address("fe80::ff:fe00:b"),
                   us_east = address("2001:db8:2::fe"), host = address("2001:db8:1::1"),
                   host_near = address("fe80::9"), unspecified = packet::ipv6_unspecified;
constexpr mac_address stranger{{2, 0, 0, 0, 0, 0x99}};
enum : uint8_t { mld1 = 131, solicitation = 135, advertisement = 136, mld2 = 143 };

/// An ICMPv6 message that left by a port.
struct message {
    uint8_t type;
    ipv6_address from, to;
    byte_vector frame;
    size_t at;  ///< of the message in its frame
};

class own_addresses : public ::testing::Test {
  protected:
    own_addresses() {
        l.worker().start();
        l.links(true);
    }
    ~own_addresses() override { l.worker().finish(); }

    std::vector<message> sent_messages() { return messages_of(0); }
    std::vector<message> messages_of(uint16_t port) {
        l.settle();
        std::vector<message> out;
        for (byte_vector& f : l.sent(port)) {
            if (f[12] != 0x86) continue;
            const size_t at = f[20] == 0 ? 62 : 54;  // behind the router alert
            const auto& ip = packet::header_at<packet::ipv6_header>(&f[14]);
            if (f[20] == 0 || f[20] == 58) out.push_back({f[at], ip.source, ip.destination, f, at});
        }
        return out;
    }
    std::vector<message> sent_messages(unsigned type) {
        auto all = sent_messages();
        std::erase_if(all, [&](const message& m) { return m.type != type; });
        return all;
    }
    void nd_from_stranger(uint32_t (*write)(std::span<uint8_t>, const packet::nd_host&,
                                            const ipv6_address&),
                          const ipv6_address& from, const ipv6_address& target) {
        byte_vector frame(packet::nd_frame_bytes);
        frame.resize(write(frame, {stranger, from}, target));
        ASSERT_TRUE(l.offer(0, frame));
        l.settle();
    }
    void claim(const ipv6_address& a) {
        nd_from_stranger(
            [](std::span<uint8_t> frame, const packet::nd_host& by, const ipv6_address&) {
                return packet::write_neighbour_advertisement(
                    frame, by, {broadcast_mac, packet::ipv6_unspecified}, 0);
            },
            a, a);
    }
    void query(size_t message_bytes, uint16_t max_response_ms) {
        byte_vector rest(message_bytes - 4);
        store_be(rest.data(), max_response_ms);
        const byte_vector all = bytes(packet::ipv6_all_nodes), router = bytes(host_near);
        byte_vector frame = ethernet(
            0x86dd, ipv6({.next_header = 0, .hop_limit = 1, .source = router, .destination = all},
                         mld_router_alert + icmp6(130, 0, rest, router, all)));
        const mac_address to = packet::multicast_mac(packet::ipv6_all_nodes);
        std::copy(to.bytes, to.bytes + sizeof to.bytes, frame.begin());
        ASSERT_TRUE(l.offer(0, frame));
        l.settle();
    }
    /// A packet from west to a host without a neighbour entry.
    void want_neighbour(const ipv6_address& to) {
        ASSERT_TRUE(l.offer(
            0, ethernet(0x86dd,
                        ipv6({.source = bytes(host), .destination = bytes(to)}, udp(counted(4))))));
        l.settle();
    }
    void echo_to(const ipv6_address& to) {
        ASSERT_TRUE(l.offer(
            0, ethernet(0x86dd,
                        ipv6({.next_header = 58, .source = bytes(host), .destination = bytes(to)},
                             icmp6(128, 0, counted(12), bytes(host), bytes(to))))));
        l.settle();
    }

    const std::string config =
        "ports:\n"
        "  - {name: west, device: d0, addresses: [\"2001:db8:1::fe/64\"]}\n"
        "  - {name: east, device: d1, addresses: [\"2001:db8:2::fe/64\"]}\n"
        "neighbours:\n  static:\n"
        "    - {address: \"2001:db8:1::1\", mac: \"02:00:00:00:00:0a\"}\n";
    path_lab l{config};
};

TEST_F(own_addresses, are_probed_for_from_no_address_and_announced_without_override) {
    std::set<ipv6_address> probed, announced;
    for (const message& m : sent_messages()) {
        const auto& nd = packet::header_at<packet::nd_message>(&m.frame[m.at]);
        if (m.type == solicitation) {
            EXPECT_EQ(m.from, unspecified);
            probed.insert(nd.target);
        } else if (m.type == advertisement) {
            EXPECT_EQ(nd.icmp.rest & packet::nd_flag_override, 0U);
            announced.insert(nd.target);
        }
    }
    EXPECT_EQ(probed, (std::set{us, us_near}));
    EXPECT_EQ(announced, probed);
    l.control(999);
    EXPECT_TRUE(sent_messages(advertisement).empty());
    l.control(1);
    for (const message& m : sent_messages(advertisement)) {
        const auto& nd = packet::header_at<packet::nd_message>(&m.frame[m.at]);
        EXPECT_NE(nd.icmp.rest & packet::nd_flag_override, 0U) << "ours alone from here on";
        announced.erase(nd.target);
    }
    EXPECT_TRUE(announced.empty());
}

/// RFC 4429 section 3.2: a solicitation says a MAC address, which an address that may be another's
/// must not.
TEST_F(own_addresses, ask_nobody_while_they_are_tentative) {
    want_neighbour(address("2001:db8:2::77"));
    for (const message& m : messages_of(1)) {
        EXPECT_TRUE(m.type != solicitation || m.from == unspecified) << "asked too early";
    }
    l.control(1001);
    unsigned asked = 0;
    for (const message& m : messages_of(1))
        if (m.type == solicitation) {
            EXPECT_EQ(m.from, us_east);
            ++asked;
        }
    EXPECT_EQ(asked, 1U) << "the packet waited";
}

TEST_F(own_addresses, of_somebody_else_are_not_used) {
    sent_messages();
    claim(us);
    l.control(1001);
    for (const message& m : sent_messages(advertisement))
        EXPECT_EQ(packet::header_at<packet::nd_message>(&m.frame[m.at]).target, us_near)
            << "only the other is ours";
    nd_from_stranger(packet::write_neighbour_solicitation, host_near, us);
    EXPECT_TRUE(sent_messages(advertisement).empty()) << "not answered for";
    echo_to(us);
    EXPECT_TRUE(sent_messages().empty());
    EXPECT_EQ(l.dropped(drop_reason::duplicate_address), 1U);
    // A packet without a route: its sender gets an ICMP error from another of our addresses.
    want_neighbour(address("2001:db8:9::1"));
    const auto advertised = sent_messages(1);
    ASSERT_EQ(advertised.size(), 1U);
    EXPECT_EQ(advertised[0].from, us_east);
    // The source of a solicitation for a host of the tentative address's network is the link-local
    // address.
    want_neighbour(address("2001:db8:1::55"));
    const auto asked = sent_messages(solicitation);
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_EQ(asked[0].from, us_near);
    // The link goes down and up: duplicate address detection starts again.
    l.links(false);
    l.links(true);
    l.control(1001);
    sent_messages();
    echo_to(us);
    EXPECT_EQ(sent_messages(129).size(), 1U);
}

/// RFC 4862 section 5.4: an address is probed for when it is assigned.
TEST_F(own_addresses, stay_as_they_are_when_others_change) {
    sent_messages();
    claim(us);
    l.control(1001);
    sent_messages();
    std::string changed = config;
    changed.replace(changed.find("\"2001:db8:1::fe/64\""), 0,
                    "10.0.1.1/24, \"2001:db8:1::fd/64\", ");
    ASSERT_TRUE(l.apply(changed));
    std::map<uint8_t, std::set<ipv6_address>> targets;
    for (const message& m : sent_messages())
        if (m.type == solicitation || m.type == advertisement)
            targets[m.type].insert(packet::header_at<packet::nd_message>(&m.frame[m.at]).target);
    EXPECT_EQ(targets[solicitation], std::set{address("2001:db8:1::fd")});
    EXPECT_EQ(targets[advertisement], (std::set{address("2001:db8:1::fd"), us_near}))
        << "RFC 4862 section 5.4.5: a duplicate address is not announced";
    echo_to(us);
    EXPECT_EQ(l.dropped(drop_reason::duplicate_address), 1U) << "still another node's";
    want_neighbour(address("2001:db8:1::55"));
    for (const message& m : sent_messages(solicitation))
        EXPECT_EQ(m.from, us_near) << "a good source, meanwhile";
    l.control(1001);
    sent_messages();
    echo_to(address("2001:db8:1::fd"));
    EXPECT_EQ(sent_messages(129).size(), 1U);
    // Without it again: nothing is probed for.
    ASSERT_TRUE(l.apply(config));
    for (const message& m : sent_messages(solicitation)) EXPECT_NE(m.from, unspecified);
}

/// RFC 4429 section 2.1: an address that is not known to be ours alone is not the source while there is another.
TEST_F(own_addresses, that_are_tentative_are_the_last_choice) {
    l.control(1001);
    sent_messages();
    std::string changed = config;
    changed.insert(changed.find("\"2001:db8:1::fe/64\""), "\"2001:db8:1::fd/64\", ");
    ASSERT_TRUE(l.apply(changed));
    sent_messages();
    const auto source = [&] {
        want_neighbour(address("2001:db8:9::1"));
        const auto errors = sent_messages(1);
        return errors.size() == 1 ? errors[0].from : unspecified;
    };
    EXPECT_EQ(source(), us);
    l.control(1001);
    EXPECT_EQ(source(), address("2001:db8:1::fd"));
}

/// keepalived gives virtual addresses so: after a split brain, the address stays in use.
TEST_F(own_addresses, that_the_kernel_has_without_detection_are_not_probed_for) {
    std::string mirrored = config;
    mirrored.replace(mirrored.find("{name: west,"), 12, "{name: west, host_interface: true,");
    ASSERT_TRUE(l.apply(mirrored + "control_plane: {netlink: true}\n"));
    l.control(1001);
    sent_messages();
    const ipv6_address virtual_one = address("2001:db8:1::9"), other = address("2001:db8:1::a");
    state::learned kernel;
    kernel.addresses["west"] = {{ip_address::from_v6(virtual_one.bytes), 128},
                                {ip_address::from_v6(other.bytes), 128}};
    kernel.no_dad = {{.interface = "west", .address = ip_address::from_v6(virtual_one.bytes)}};
    l.worker().pause();
    ASSERT_TRUE(*l.controller().learn(kernel));
    l.worker().resume();
    std::set<ipv6_address> probed, taken;
    for (const message& m : sent_messages()) {
        const auto& nd = packet::header_at<packet::nd_message>(&m.frame[m.at]);
        if (m.type == solicitation && m.from == unspecified) probed.insert(nd.target);
        if (m.type == advertisement && (nd.icmp.rest & packet::nd_flag_override) != 0)
            taken.insert(nd.target);
    }
    EXPECT_EQ(probed, std::set{other});
    EXPECT_EQ(taken, std::set{virtual_one});
    claim(virtual_one);
    claim(other);
    echo_to(virtual_one);
    EXPECT_EQ(sent_messages(129).size(), 1U);
    echo_to(other);
    EXPECT_TRUE(sent_messages(129).empty());
    EXPECT_EQ(l.dropped(drop_reason::duplicate_address), 1U);
}

/// RFC 4443 section 4.2: a loopback address that only the kernel has is the source of the reply, as of IPv4's.
TEST_F(own_addresses, of_the_kernel_alone_answer) {
    ASSERT_TRUE(l.apply(config + "control_plane: {netlink: true}\n"));
    l.control(1001);
    sent_messages();
    const ipv6_address loopback = address("2001:db8:ff::1");
    state::learned kernel;
    kernel.routes.set({ip_address::from_v6(loopback.bytes), 128},
                      {.type = state::route_type::local});
    l.worker().pause();
    for (auto learnt = l.controller().learn(kernel); !*learnt;)
        learnt = l.controller().learn(kernel);
    l.worker().resume();
    echo_to(loopback);
    const auto replies = sent_messages(129);
    ASSERT_EQ(replies.size(), 1U);
    EXPECT_EQ(replies[0].from, loopback);
    EXPECT_EQ(replies[0].to, host);
}

/// VRFs may have the same addresses.
TEST(own_addresses_of_vrfs, are_duplicates_in_their_own_only) {
    path_lab l(
        "vrfs: [{name: red}]\n"
        "ports:\n"
        "  - {name: west, device: d0, addresses: [\"2001:db8:1::fe/64\"]}\n"
        "  - {name: east, device: d1, vrf: red, addresses: [\"2001:db8:1::fe/64\"]}\n"
        "neighbours:\n  static:\n"
        "    - {port: west, address: \"2001:db8:1::1\", mac: \"02:00:00:00:00:0a\"}\n");
    l.worker().start();
    l.links(true);
    l.settle();
    byte_vector frame(packet::nd_frame_bytes);
    frame.resize(packet::write_neighbour_advertisement(
        frame, {stranger, us}, {broadcast_mac, packet::ipv6_unspecified}, 0));
    ASSERT_TRUE(l.offer(1, frame));
    l.settle();
    l.control(1001);
    l.settle();
    l.sent(0);
    const byte_vector echo =
        ethernet(0x86dd, ipv6({.next_header = 58, .source = bytes(host), .destination = bytes(us)},
                              icmp6(128, 0, counted(12), bytes(host), bytes(us))));
    ASSERT_TRUE(l.offer(0, echo));
    l.settle();
    EXPECT_EQ(l.dropped(drop_reason::duplicate_address), 0U);
    byte_vector to_east = echo;
    to_east[5] = 0x0c;  // its MAC address
    ASSERT_TRUE(l.offer(1, to_east));
    l.settle();
    EXPECT_EQ(l.dropped(drop_reason::duplicate_address), 1U);
    l.worker().finish();
}

TEST_F(own_addresses, that_is_link_local_and_another_s_ends_what_only_it_can_say) {
    sent_messages();
    claim(us_near);
    l.control(1001);
    for (const message& m : sent_messages(mld2))
        EXPECT_EQ(m.from, unspecified) << "RFC 3810 section 5.2.13";
    echo_to(us);
    EXPECT_EQ(sent_messages(129).size(), 1U) << "the other address is ours";
    want_neighbour(address("2001:db8:1::55"));
    const auto asked = sent_messages(solicitation);
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_EQ(asked[0].from, us);
}

TEST_F(own_addresses, report_groups_from_no_address_before_they_are_ours) {
    const auto first = sent_messages(mld2);
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first[0].from, unspecified);
    l.control(1001);
    const auto again = sent_messages(mld2);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].from, us_near);
}

/// RFC 3810 section 6.2: one report at a random time, for any number of queries.
TEST_F(own_addresses, answer_queries_within_the_time_that_they_give) {
    l.control(1001);
    sent_messages();
    std::set<unsigned> when;
    for (int round = 0; round < 12; ++round) {
        for (int i = 0; i < 5; ++i) query(28, 1000);
        // A random delay of nearly zero may expire before the fifth query: the later queries start
        // another.
        const size_t early = sent_messages(mld2).size();
        size_t reports = 0;
        for (unsigned ms = 0; ms <= 1000; ms += 100) {
            l.control(ms == 0 ? 0 : 100);
            for (const message& m : sent_messages(mld2)) {
                EXPECT_EQ(m.frame[m.at + 8], 2) << "MODE_IS_EXCLUDE";
                when.insert(ms);
                ++reports;
            }
        }
        EXPECT_LE(reports, 1U);
        EXPECT_LE(early, 1U);
        EXPECT_GE(reports + early, 1U);
    }
    EXPECT_GT(when.size(), 1U) << "always at the same time";
}

/// RFC 3810 section 8.2.1: version 1 for as long as such a router may be there.
TEST_F(own_addresses, answer_an_older_router_in_its_version) {
    l.control(1001);
    sent_messages();
    query(24, 500);
    l.control(501);
    auto all = sent_messages();
    std::set<ipv6_address> groups;
    for (const message& m : all) {
        EXPECT_EQ(m.type, mld1);
        EXPECT_EQ(m.from, us_near);
        EXPECT_EQ(packet::header_at<ipv6_address>(&m.frame[m.at + 8]), m.to);
        groups.insert(m.to);
    }
    EXPECT_EQ(groups, (std::set{address("ff02::2"), address("ff05::2"), packet::solicited_node(us),
                                packet::solicited_node(us_near)}));
    query(28, 500);  // a newer one beside it
    l.control(501);
    EXPECT_EQ(sent_messages(mld1).size(), groups.size());
    l.control(260'000);
    sent_messages();
    query(28, 500);
    l.control(501);
    all = sent_messages();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].type, mld2);
}

}  // namespace
}  // namespace turnpike
