// SPDX-License-Identifier: BSD-3-Clause
// ACLs on the whole path of a packet, routed and cross-connected: matches of each rule, packets that lists apply
// to, precedence, and counters.
#include <gtest/gtest.h>

#include "lib/eal.hpp"
#include "lib/path_lab.hpp"

namespace turnpike {
namespace {

using namespace test;

constexpr uint16_t type4 = 0x0800, type6 = 0x86dd;
constexpr uint8_t tcp_protocol = 6, udp_protocol = 17;

/// West has 10.0.1.1 and 2001:db8:1::1, east 10.0.2.2 and 2001:db8:2::2. `bind` goes into west's
/// port, `bind_east` into east's.
std::string routed(const std::string& lists, const std::string& bind,
                   const std::string& bind_east = "{}") {
    return "acl:\n" + lists +
           "ports:\n"
           "  - {name: west, device: d0, addresses: [10.0.1.254/24, \"2001:db8:1::fe/64\"], acl: " +
           bind +
           "}\n"
           "  - {name: east, device: d1, addresses: [10.0.2.254/24, \"2001:db8:2::fe/64\"], acl: " +
           bind_east +
           "}\n"
           "neighbours:\n"
           "  max_entries: 16\n"
           "  static:\n"
           "    - {address: 10.0.1.1, mac: \"02:00:00:00:00:0a\"}\n"
           "    - {address: \"2001:db8:1::1\", mac: \"02:00:00:00:00:0a\"}\n"
           "    - {address: 10.0.2.2, mac: \"02:00:00:00:00:0d\"}\n"
           "    - {address: \"2001:db8:2::2\", mac: \"02:00:00:00:00:0d\"}\n";
}
std::string patched(const std::string& lists, const std::string& bind,
                    const std::string& bind_east = "{}") {
    return "acl:\n" + lists + "ports:\n  - {name: west, device: d0, acl: " + bind +
           "}\n  - {name: east, device: d1, acl: " + bind_east + "}\nxconnects: [[west, east]]\n";
}
std::string list(const std::string& rules, const std::string& otherwise = "permit",
                 const std::string& name = "a") {
    return "  - {name: " + name + ", default: " + otherwise + ", rules: [" + rules + "]}\n";
}

class lab : public running_lab {
  public:
    using running_lab::running_lab;
    /// "forwarded", "answered", the name of the drop, or "consumed".
    std::string verdict_of(const byte_vector& frame, uint16_t from = 0) {
        const auto before = controller().report().drops();
        EXPECT_TRUE(offer(from, frame));
        settle();
        left = sent(static_cast<uint16_t>(1 - from));
        const bool back = !sent(from).empty();
        for (const auto& [reason, n] : controller().report().drops())
            if (!before.contains(reason) || before.at(reason) != n)
                return reason + (back ? ", reported" : "");
        if (back) return "answered";
        return left.empty() ? "consumed" : "forwarded";
    }
    /// The rule of that name at a binding, in their order.
    observe::acl_rule_report rule(const std::string& name, size_t binding = 0) {
        const auto report = acls();
        for (const auto& r : report.at(binding).rules)
            if (r.name == name) return r;
        ADD_FAILURE() << "no rule " << name;
        return {};
    }
    std::vector<byte_vector> left;
};

byte_vector with_ports(byte_vector upper, uint16_t source, uint16_t destination) {
    store_be(&upper[0], source);
    store_be(&upper[2], destination);
    return upper;
}
byte_vector tcp4(uint16_t source, uint16_t destination, uint8_t flags = 0x10,
                 const ipv4_fields& f = {}) {
    ipv4_fields fields = f;
    fields.protocol = tcp_protocol;
    return ethernet(type4, ipv4(fields, with_ports(tcp(flags, counted(4)), source, destination)));
}
byte_vector tcp6(uint16_t source, uint16_t destination) {
    return ethernet(type6, ipv6({.next_header = tcp_protocol},
                                with_ports(tcp(0x10, counted(4)), source, destination)));
}
byte_vector udp4(uint16_t source, uint16_t destination, const ipv4_fields& f = {}) {
    return ethernet(type4, ipv4(f, with_ports(udp(counted(4)), source, destination)));
}
byte_vector ping4(uint8_t type = 8, uint8_t code = 0, const ipv4_fields& f = {}) {
    ipv4_fields fields = f;
    fields.protocol = 1;
    return ethernet(type4, ipv4(fields, icmp4(type, code, counted(12))));
}
byte_vector ping6(uint8_t type = 128, uint8_t code = 0) {
    return ethernet(type6, ipv6({.next_header = 58}, icmp6(type, code, counted(12))));
}
byte_vector with_dscp(byte_vector frame, uint8_t dscp) {  // and ECN bits that no rule matches
    if (frame[12] == 0x86) {
        frame[14] = static_cast<uint8_t>(0x60 | dscp >> 2);
        frame[15] = static_cast<uint8_t>((dscp & 3) << 6 | 0x30);
        return frame;
    }
    frame[15] = static_cast<uint8_t>(dscp << 2 | 3);
    store_be<uint16_t>(&frame[24], 0);
    store_be(&frame[24], packet::checksum(std::span(frame).subspan(14, 20)));
    return frame;
}
constexpr uint16_t more = 0x2000;
/// A part of a datagram, `units` of 8 bytes behind its start.
byte_vector part4(uint16_t units, uint16_t flags, uint8_t protocol, const byte_vector& rest) {
    return ethernet(
        type4,
        ipv4({.fragment = static_cast<uint16_t>(units | flags), .protocol = protocol}, rest));
}
byte_vector part6(uint16_t offset, bool more_come, uint8_t protocol, const byte_vector& rest) {
    return ethernet(
        type6, ipv6({.next_header = 44},
                    fragment(protocol, static_cast<uint16_t>(offset | (more_come ? 1 : 0)), rest)));
}

/// TCP from port 1 to 9 behind one extension header of 8 bytes.
byte_vector tcp6_behind(uint8_t header) {
    return ethernet(type6,
                    ipv6({.next_header = header}, extension(6, 0, with_ports(tcp(0, {}), 1, 9))));
}

struct row {
    const char* rule;
    byte_vector frame;
    bool matches;
};

const row rows[] = {
    {"name: all", tcp4(1, 2), true},
    {"name: all", ping6(), true},
    {"family: ipv4", tcp4(1, 2), true},
    {"family: ipv4", tcp6(1, 2), false},
    {"family: ipv6", tcp6(1, 2), true},
    {"family: ipv6", tcp4(1, 2), false},
    {"source: 10.0.1.1/32", tcp4(1, 2), true},
    {"source: 10.0.1.0/31", tcp4(1, 2), true},
    {"source: 10.0.1.2/31", tcp4(1, 2), false},
    {"source: 10.0.2.2/32", tcp4(1, 2), false},
    {"destination: 10.0.2.2/32", tcp4(1, 2), true},
    {"destination: 10.0.1.0/24", tcp4(1, 2), false},
    {"source: 0.0.0.0/0", tcp4(1, 2), true},
    {"source: 0.0.0.0/0", tcp6(1, 2), false},
    {"source: \"2001:db8:1::/48\"", tcp6(1, 2), true},
    {"source: \"2001:db8:1::1/128\"", tcp6(1, 2), true},
    {"source: \"2001:db8:1::2/128\"", tcp6(1, 2), false},
    {"destination: \"2001:db8:2::2/127\"", tcp6(1, 2), true},
    {"protocol: tcp", tcp4(1, 2), true},
    {"protocol: tcp", tcp6(1, 2), true},
    {"protocol: tcp", udp4(1, 2), false},
    {"protocol: 17", udp4(1, 2), true},
    {"protocol: tcp, destination_ports: 80", tcp4(7, 80), true},
    {"protocol: tcp, destination_ports: 80", tcp6(7, 80), true},
    {"protocol: tcp, destination_ports: 80", tcp4(80, 7), false},
    {"protocol: tcp, destination_ports: 80", udp4(7, 80), false},
    {"protocol: udp, source_ports: 79-81", udp4(79, 7), true},
    {"protocol: udp, source_ports: 79-81", udp4(81, 7), true},
    {"protocol: udp, source_ports: 79-81", udp4(78, 7), false},
    {"protocol: udp, source_ports: 79-81", udp4(82, 7), false},
    {"protocol: udp, source_ports: 0-65535", udp4(82, 7), true},
    {"protocol: sctp, destination_ports: 5",
     ethernet(type4, ipv4({.protocol = 132}, with_ports(counted(12), 4, 5))), true},
    {"protocol: tcp, tcp_flags: +syn -ack", tcp4(1, 2, 0x02), true},
    {"protocol: tcp, tcp_flags: +syn -ack", tcp4(1, 2, 0x12), false},
    {"protocol: tcp, tcp_flags: +syn -ack", tcp4(1, 2, 0xc2), true},
    {"protocol: tcp, tcp_flags: -syn", tcp4(1, 2, 0x10), true},
    {"protocol: tcp, tcp_flags: +fin +psh", tcp4(1, 2, 0x08), false},
    {"protocol: icmp", ping4(), true},
    {"protocol: icmp", ping6(), false},
    {"protocol: icmp, icmp_type: 8", ping4(), true},
    {"protocol: icmp, icmp_type: 8", ping4(0), false},
    {"protocol: icmp, icmp_type: 3, icmp_code: 3", ping4(3, 3), true},
    {"protocol: icmp, icmp_type: 3, icmp_code: 3", ping4(3, 1), false},
    {"protocol: icmp, icmp_type: 0, icmp_code: 0", ping4(0, 0), true},
    {"protocol: icmpv6, icmp_type: 128", ping6(), true},
    {"protocol: icmpv6, icmp_type: 129", ping6(), false},
    {"dscp: 46", with_dscp(tcp4(1, 2), 46), true},
    {"dscp: 46", with_dscp(tcp4(1, 2), 47), false},
    {"dscp: 46", with_dscp(tcp6(1, 2), 46), true},
    {"dscp: 46", with_dscp(tcp6(1, 2), 45), false},
    {"dscp: 0", tcp6(1, 2), true},
    // Later fragments have no ports and no ICMP type: only rules without these fields match them.
    {"protocol: udp", part4(2, more, udp_protocol, counted(16)), true},
    {"protocol: udp, destination_ports: 0-65535", part4(2, more, udp_protocol, counted(16)), false},
    {"protocol: udp, source_ports: 0", part4(2, 0, udp_protocol, counted(16)), false},
    {"protocol: icmp, icmp_type: 0", part4(2, 0, 1, counted(16)), false},
    {"protocol: tcp, tcp_flags: -syn", part4(4, 0, tcp_protocol, counted(16)), false},
    {"protocol: udp, fragments: true", part4(2, more, udp_protocol, counted(16)), true},
    {"fragments: true", part4(2, 0, udp_protocol, counted(16)), true},
    {"fragments: true", part4(0, more, udp_protocol, with_ports(udp(counted(8)), 1, 2)), false},
    {"fragments: true", udp4(1, 2), false},
    {"fragments: false", udp4(1, 2), true},
    {"fragments: false", part4(2, 0, udp_protocol, counted(16)), false},
    {"fragments: true", part6(16, true, udp_protocol, counted(16)), true},
    {"protocol: udp, fragments: true", part6(16, true, udp_protocol, counted(16)), true},
    {"protocol: udp, source_ports: 0-65535", part6(16, true, udp_protocol, counted(16)), false},
    // First fragments have.
    {"protocol: udp, destination_ports: 9",
     part4(0, more, udp_protocol, with_ports(udp(counted(8)), 1, 9)), true},
    {"protocol: udp, destination_ports: 9",
     part6(0, true, udp_protocol, with_ports(udp(counted(8)), 1, 9)), true},
    {"protocol: udp, destination_ports: 9",  // RFC 6946: an atomic one is whole
     part6(0, false, udp_protocol, with_ports(udp(counted(8)), 1, 9)), true},
    // The upper layer behind extension headers.
    {"protocol: tcp, destination_ports: 9",
     ethernet(type6, ipv6({.next_header = 0},
                          extension(60, 0, extension(6, 1, with_ports(tcp(0, {}), 1, 9))))),
     true},
    {"protocol: icmpv6, icmp_type: 128",
     ethernet(type6, ipv6({.next_header = 60}, extension(58, 0, icmp6(128, 0, counted(12))))),
     true},
    // An extension header's number matches it anywhere in the chain.
    {"protocol: 60", tcp6_behind(60), true},
    {"protocol: 60", tcp6_behind(0), false},
    {"protocol: 60, vlan: untagged", tcp6_behind(60), true},
    {"protocol: 60",
     ethernet(type6, ipv6({.next_header = 0},
                          extension(60, 0, extension(6, 1, with_ports(tcp(0, {}), 1, 9))))),
     true},
    {"protocol: 0", tcp6_behind(0), true},
    {"protocol: 0", tcp6(1, 9), false},
    {"protocol: 43", tcp6_behind(43), true},
    {"protocol: 43", tcp6_behind(51), false},
    {"protocol: 44", part6(16, true, udp_protocol, counted(16)), true},
    {"protocol: 44", tcp6(1, 9), false},
    {"protocol: 51", tcp6_behind(51), true},
    {"protocol: 51", tcp6_behind(43), false},
    {"protocol: 51", ethernet(type4, ipv4({.protocol = 51}, counted(24))), true},
    {"protocol: 51", tcp4(1, 9), false},
    {"protocol: tcp, destination_ports: 9", tcp6_behind(51), true},
};

/// On the way in and on the way out, routed and patched: the same rules mean the same.
class match_path : public ::testing::TestWithParam<std::pair<bool, bool>> {};

TEST_P(match_path, as_the_rule_says) {
    const auto [routes, out] = GetParam();
    const auto& configure = routes ? routed : patched;
    const auto configured = [&, out = out](const std::string& lists) {
        return out ? configure(lists, "{}", "{out: a}") : configure(lists, "{in: a}", "{}");
    };
    const char* denial = out ? "acl_deny_out" : "acl_deny";
    lab l(configured(list("")));
    uint64_t denied = 0;
    for (const row& r : rows) {
        ASSERT_TRUE(l.apply(configured(list("{action: deny, " + std::string(r.rule) + "}"))));
        EXPECT_EQ(l.verdict_of(r.frame), r.matches ? denial : "forwarded") << r.rule;
        denied += r.matches ? 1 : 0;
        if (!routes && !r.matches) {
            EXPECT_EQ(l.left.at(0), r.frame) << r.rule;
        }
        EXPECT_EQ(l.acls()[0].denied, denied);
    }
    EXPECT_EQ(l.acls()[0].permitted, std::size(rows) - denied);
}

INSTANTIATE_TEST_SUITE_P(acl, match_path,
                         ::testing::Values(std::pair{true, false}, std::pair{true, true},
                                           std::pair{false, false}, std::pair{false, true}),
                         [](const auto& of) {
                             return std::string(of.param.first ? "routed" : "patched") +
                                    (of.param.second ? "_out" : "_in");
                         });

// RFC 1858 and RFC 3128: a fragment that hides or overwrites ports passes no list, whatever its
// rules.
TEST(acl, tiny_and_overlapping_fragments_pass_no_list) {
    lab l(routed(list("{action: permit, name: all}"), "{in: a}"));
    EXPECT_EQ(l.verdict_of(part4(0, more, tcp_protocol, with_ports(counted(16), 1, 80))),
              "acl_deny");
    EXPECT_EQ(l.verdict_of(part4(1, 0, tcp_protocol, counted(16))), "acl_deny");
    EXPECT_EQ(l.verdict_of(part6(8, false, tcp_protocol, counted(16))), "acl_deny");
    EXPECT_EQ(l.verdict_of(ethernet(type4, ipv4({}, counted(7)))), "acl_deny")
        << "half a UDP header";
    EXPECT_EQ(l.rule("tiny-fragment").packets, 4U);
    EXPECT_EQ(l.verdict_of(part4(1, 0, udp_protocol, counted(16))), "forwarded");
    EXPECT_EQ(l.verdict_of(part4(2, 0, tcp_protocol, counted(16))), "forwarded");
}

/// Hosts take Mobility, HIP and Shim6 as the upper layer; `protocol` matches them.
TEST(acl, ports_behind_headers_that_hosts_do_not_skip_are_no_ports) {
    const byte_vector dns = with_ports(udp(counted(20)), 1000, 53);
    for (const uint8_t header : std::initializer_list<uint8_t>{135, 139, 140}) {
        const byte_vector hidden =
            ethernet(type6, ipv6({.next_header = header}, extension(udp_protocol, 0, dns)));
        lab l(routed(list("{action: permit, protocol: udp, destination_ports: 53}", "deny"),
                     "{in: a}"));
        EXPECT_EQ(l.verdict_of(
                      ethernet(type6, ipv6({.next_header = 60}, extension(udp_protocol, 0, dns)))),
                  "forwarded");
        EXPECT_EQ(l.verdict_of(hidden), "acl_deny");
        ASSERT_TRUE(l.apply(
            routed(list("{action: permit, protocol: " + std::to_string(header) + "}", "deny"),
                   "{in: a}")));
        EXPECT_EQ(l.verdict_of(hidden), "forwarded");
    }
}

TEST(acl, the_first_rule_that_matches_decides) {
    lab l(routed(list("{action: permit, name: web, protocol: tcp, destination_ports: 80},"
                      "{action: deny, name: tcp, protocol: tcp},"
                      "{action: permit, name: ten, source: 10.0.0.0/8},"
                      "{action: deny, name: never, source: 10.0.1.0/24}",
                      "deny"),
                 "{in: a}"));
    EXPECT_EQ(l.verdict_of(tcp4(5, 80)), "forwarded");
    EXPECT_EQ(l.verdict_of(tcp4(5, 81)), "acl_deny");
    EXPECT_EQ(l.verdict_of(udp4(5, 81)), "forwarded");
    EXPECT_EQ(l.verdict_of(ping6()), "acl_deny") << "by default";
    EXPECT_EQ(l.rule("web").packets, 1U);
    EXPECT_EQ(l.rule("web").bytes, tcp4(5, 80).size());
    EXPECT_EQ(l.rule("tcp").packets, 1U);
    EXPECT_EQ(l.rule("ten").packets, 1U);
    EXPECT_EQ(l.rule("never").packets, 0U);
    EXPECT_EQ(l.rule("default").packets, 1U);
    EXPECT_EQ(l.rule("default").action, "deny");
    const auto report = l.acls();
    ASSERT_EQ(report.size(), 1U);
    EXPECT_EQ(report[0].interface, "west");
    EXPECT_EQ(report[0].direction, "in");
    EXPECT_EQ(report[0].list, "a");
    EXPECT_EQ(report[0].permitted, 2U);
    EXPECT_EQ(report[0].denied, 2U);
    EXPECT_EQ(report[0].rules.size(), 7U);
    EXPECT_EQ(report[0].rules[1].by_worker, std::vector<uint64_t>{1});
}

/// In IPv6, the rules overlap: they are in different categories.
TEST(acl, rules_of_an_extension_header_and_of_the_upper_layer_both_count) {
    lab l(routed(list("{action: count, name: ah, protocol: 51},"
                      "{action: count, name: tcp, protocol: tcp},"
                      "{action: permit, name: rest}"),
                 "{in: a}"));
    EXPECT_EQ(l.verdict_of(tcp6_behind(51)), "forwarded");
    EXPECT_EQ(l.verdict_of(tcp6(1, 9)), "forwarded");
    EXPECT_EQ(l.verdict_of(ethernet(type4, ipv4({.protocol = 51}, counted(24)))), "forwarded");
    EXPECT_EQ(l.rule("ah").packets, 2U);
    EXPECT_EQ(l.rule("tcp").packets, 2U);
}

TEST(acl, every_count_rule_above_the_decision_counts) {
    lab l(routed(list("{action: count, name: all},"
                      "{action: count, name: tcp, protocol: tcp},"
                      "{action: count, name: web, protocol: tcp, destination_ports: 80},"
                      "{action: deny, name: ssh, protocol: tcp, destination_ports: 22},"
                      "{action: count, name: beyond, protocol: tcp},"
                      "{action: permit, name: rest, protocol: tcp},"
                      "{action: count, name: udp, protocol: udp}"),
                 "{in: a}"));
    EXPECT_EQ(l.verdict_of(tcp4(5, 80)), "forwarded");
    EXPECT_EQ(l.verdict_of(tcp4(5, 22)), "acl_deny");
    EXPECT_EQ(l.verdict_of(udp4(5, 80)), "forwarded");
    EXPECT_EQ(l.verdict_of(tcp6(5, 80)), "forwarded");
    const std::pair<const char*, uint64_t> expected[] = {{"all", 4}, {"tcp", 3},    {"web", 2},
                                                         {"ssh", 1}, {"beyond", 2}, {"rest", 2},
                                                         {"udp", 1}, {"default", 1}};
    for (const auto& [name, packets] : expected) EXPECT_EQ(l.rule(name).packets, packets) << name;
    EXPECT_EQ(l.acls()[0].permitted, 3U);
    EXPECT_EQ(l.acls()[0].denied, 1U);
}

byte_vector solicitation(uint8_t hop_limit) {
    return ethernet(
        type6, ipv6({.next_header = 58, .hop_limit = hop_limit}, icmp6(135, 0, zeros(4) + v6_b)));
}

TEST(acl, arp_is_not_judged_and_discovery_passes_a_closed_list) {
    const byte_vector ask = ethernet(0x0806, arp({}), byte_vector(6, 0xff));
    const byte_vector us{0x20, 1, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe};
    const byte_vector ask6 =
        ethernet(type6, ipv6({.next_header = 58, .hop_limit = 255, .destination = us},
                             icmp6(135, 0, zeros(4) + us, v6_a, us)));
    {
        lab l(routed(list("", "deny"), "{in: a, out: a}"));
        EXPECT_EQ(l.verdict_of(ask), "answered");
        EXPECT_EQ(l.verdict_of(ask6), "answered");
        EXPECT_EQ(l.rule("neighbour-discovery").packets, 1U);
        EXPECT_EQ(l.acls()[0].permitted, 1U);
        ASSERT_TRUE(l.apply(routed(list("{action: deny, name: all}"), "{in: a, out: a}")));
        EXPECT_EQ(l.verdict_of(ask), "answered");
        EXPECT_EQ(l.verdict_of(ask6), "acl_deny") << "a rule that says so is obeyed";
    }
    lab patch(patched(list("", "deny"), "{in: a}", "{out: a}"));
    EXPECT_EQ(patch.verdict_of(ask), "forwarded");
    EXPECT_EQ(patch.verdict_of(solicitation(255)), "forwarded");
    EXPECT_EQ(patch.verdict_of(solicitation(254)), "acl_deny") << "it came over a router";
    EXPECT_EQ(patch.verdict_of(ping6()), "acl_deny");
}

TEST(acl, what_is_for_us_is_judged_on_its_way_in) {
    const byte_vector ask = ping4(8, 0, {.destination = 0x0a0001fe});
    {
        lab l(routed(list("{action: deny, protocol: tcp}"), "{in: a}"));
        EXPECT_EQ(l.verdict_of(ask), "answered");
        ASSERT_TRUE(l.apply(routed(list("", "deny"), "{in: a}")));
        EXPECT_EQ(l.verdict_of(ask), "acl_deny");
    }
    // Messages that turnpike originates are not classified on egress.
    lab l(routed(list("", "deny"), "{out: a}"));
    EXPECT_EQ(l.verdict_of(ask), "answered");
    EXPECT_EQ(l.verdict_of(ping4(8, 0, {.ttl = 1})), "ipv4_ttl, reported");
    EXPECT_EQ(l.acls()[0].denied, 0U);
}

TEST(acl, on_the_way_out_only_what_would_leave_is_judged) {
    lab l(routed(list("{action: deny, name: tcp, protocol: tcp}"), "{}", "{out: a}"));
    EXPECT_EQ(l.verdict_of(tcp4(1, 2)), "acl_deny_out");
    EXPECT_EQ(l.verdict_of(tcp4(1, 2, 0x10, {.ttl = 1})), "ipv4_ttl, reported");
    EXPECT_EQ(l.verdict_of(tcp4(1, 2, 0x10, {.destination = 0xc0000201})), "no_route, reported");
    EXPECT_EQ(l.verdict_of(tcp4(1, 2, 0x10, {.destination = 0x0a0002fe})),
              "local_protocol, reported");
    EXPECT_EQ(l.verdict_of(tcp4(1, 2, 0x10, {.destination = 0x0a000109})), "answered")
        << "west, which has no list, is asked for its neighbour";
    EXPECT_EQ(l.rule("tcp").packets, 1U);
    // A packet that the egress list denies causes no neighbour solicitation.
    EXPECT_EQ(l.verdict_of(tcp4(1, 2, 0x10, {.destination = 0x0a000209})), "acl_deny_out");
    EXPECT_TRUE(l.sent(1).empty());
    l.links(false);
    l.settle();
}

/// Permitted packets have the neighbour probed; denied packets neither do, nor get an ICMP error.
TEST(acl, the_egress_list_applies_where_the_neighbour_does_not_answer) {
    lab l(routed(list("{action: deny, name: tcp, protocol: tcp}"), "{}", "{out: a}"));
    const ipv4_fields to_silent{.destination = 0x0a000209};
    const auto solicitations_in = [&](int half_seconds) {
        l.sent(1);
        size_t n = 0;
        for (int i = 0; i < half_seconds; ++i) {
            l.control(500);
            l.settle();
            for (const byte_vector& frame : l.sent(1))
                if (load_be<uint16_t>(&frame[12]) == 0x0806) ++n;
        }
        return n;
    };
    ASSERT_TRUE(l.offer(0, udp4(1, 2, to_silent)));
    l.settle();
    for (int i = 0; i < 20 && l.dropped(datapath::drop_reason::neighbour_failed) == 0; ++i)
        solicitations_in(1);
    ASSERT_EQ(l.dropped(datapath::drop_reason::neighbour_failed), 1U);
    l.sent(0);

    EXPECT_EQ(l.verdict_of(tcp4(1, 2, 0x10, to_silent)), "acl_deny_out");
    EXPECT_EQ(l.rule("tcp").packets, 1U);
    EXPECT_EQ(solicitations_in(3), 0U);
    EXPECT_EQ(l.verdict_of(udp4(1, 2, to_silent)), "neighbour_failed, reported");
    EXPECT_EQ(l.rule("default").packets, 2U);
    EXPECT_GE(solicitations_in(3), 1U);
    EXPECT_EQ(l.verdict_of(tcp4(1, 2, 0x10, {.ttl = 1, .destination = 0x0a000209})),
              "ipv4_ttl, reported");
    EXPECT_EQ(l.rule("tcp").packets, 1U);
}

TEST(acl, in_and_out_and_both_ports_have_lists_of_their_own) {
    lab l(routed(list("{action: deny, protocol: tcp}", "permit", "tcp") +
                     list("{action: deny, protocol: udp}", "permit", "udp"),
                 "{in: tcp, out: udp}", "{in: udp, out: tcp}"));
    const byte_vector udp_back =
        ethernet(type4, ipv4({.source = 0x0a000202, .destination = 0x0a000101}, udp(counted(4))),
                 {2, 0, 0, 0, 0, 0x0c}, {2, 0, 0, 0, 0, 0x0d});
    EXPECT_EQ(l.verdict_of(tcp4(1, 2)), "acl_deny");
    EXPECT_EQ(l.verdict_of(udp4(1, 2)), "forwarded");
    EXPECT_EQ(l.verdict_of(udp_back, 1), "acl_deny");
    const auto report = l.acls();
    ASSERT_EQ(report.size(), 4U);
    const std::pair<uint64_t, uint64_t> judged[] = {{1, 1}, {0, 0}, {0, 1}, {1, 0}};
    for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(report[i].direction, i % 2 == 0 ? "in" : "out");
        EXPECT_EQ(report[i].interface, i < 2 ? "west" : "east");
        EXPECT_EQ(std::pair(report[i].permitted, report[i].denied), judged[i]) << i;
    }
}

TEST(acl, a_patch_judges_ip_inside_tags_and_lets_other_types_pass) {
    lab l(patched(list("{action: deny, name: seven, vlan: 7},"
                       "{action: deny, name: none, vlan: untagged, protocol: udp},"
                       "{action: deny, name: zero, vlan: 0}"),
                  "{in: a}"));
    EXPECT_EQ(l.verdict_of(tagged(tcp4(1, 2), 7)), "acl_deny");
    EXPECT_EQ(l.verdict_of(tagged(tcp6(1, 2), 0xe007)), "acl_deny") << "whatever its priority";
    EXPECT_EQ(l.verdict_of(tagged(tagged(tcp4(1, 2), 8), 7)), "acl_deny") << "the outer tag";
    EXPECT_EQ(l.verdict_of(tagged(tagged(tcp4(1, 2), 7), 8)), "forwarded");
    EXPECT_EQ(l.verdict_of(tagged(udp4(1, 2), 6)), "forwarded");
    EXPECT_EQ(l.verdict_of(udp4(1, 2)), "acl_deny");
    EXPECT_EQ(l.verdict_of(tagged(udp4(1, 2), 0)), "acl_deny") << "a priority tag";
    EXPECT_EQ(l.rule("zero").packets, 1U);
    // Not IP: passes. IP that cannot be read is dropped under its own reason.
    EXPECT_EQ(l.verdict_of(ethernet(0x88b5, counted(40))), "forwarded");
    EXPECT_EQ(l.verdict_of(ethernet(0x8847, counted(40))), "forwarded");
    EXPECT_EQ(l.verdict_of(tagged(ethernet(0x88b5, counted(40)), 7)), "forwarded");
    EXPECT_EQ(l.verdict_of(ethernet(type4, ipv4({.version = 5}, udp(counted(4))))), "ipv4_version");
    EXPECT_EQ(l.verdict_of(ethernet(type4, ipv4({.total_bytes = 99}, udp(counted(4))))),
              "ipv4_truncated");
    EXPECT_EQ(l.verdict_of(tagged(tagged(tagged(tcp4(1, 2), 3), 2), 1)), "vlan_depth");
    EXPECT_EQ(l.verdict_of(tagged(tcp4(1, 2), 0xfff)), "vlan_id_reserved");
    EXPECT_EQ(l.verdict_of(counted(9)), "runt");
    // Ingress at the other port has no list.
    EXPECT_EQ(l.verdict_of(ethernet(type4, ipv4({.version = 5}, udp(counted(4)))), 1), "forwarded");
}

/// West's frames without a tag, and those of two VLANs.
std::string routed_vlans(const std::string& lists, const std::string& bind,
                         const std::string& bind_east) {
    std::string out = routed(lists, bind, bind_east) + "interfaces:\n";
    for (const int vlan : {100, 200})
        out += "  - {port: west, vlan: " + std::to_string(vlan) + ", addresses: [10.0." +
               std::to_string(vlan) + ".254/24, \"2001:db8:" + std::to_string(vlan) +
               "::fe/64\"], acl: " + bind + "}\n";
    return out;
}

/// The verdict depends on the VLAN tag with which a frame was received, whichever stage popped it:
/// alone (stage ip_fast, or parse where the packet is not plain), and in a burst of several
/// interfaces (stage ip_input).
class routed_tags : public ::testing::TestWithParam<std::pair<bool, bool>> {};

TEST_P(routed_tags, match_alone_and_in_a_mixed_burst) {
    const auto [out, by_device] = GetParam();
    const auto configured = [&, out = out](const std::string& rule) {
        return routed_vlans(list("{action: deny, " + rule + "}"), out ? "{}" : "{in: a}",
                            out ? "{out: a}" : "{}");
    };
    constexpr int none = -1;
    const int tags[] = {none, 0, 100, 200};
    const byte_vector inner[] = {udp4(1, 2), tcp4(1, 2), tcp6(1, 2),
                                 udp4(1, 2, {.options = byte_vector{1, 1, 1, 0}}), ping4()};
    lab l(configured("vlan: 4094"));
    const auto offer = [&, by_device = by_device](const byte_vector& frame, int tag) {
        if (tag == none || !by_device)
            return l.offer(0, tag == none ? frame : tagged(frame, static_cast<uint16_t>(tag)));
        rte_mbuf* const m = l.packet_of(frame);
        m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
        m->vlan_tci = static_cast<uint16_t>(0xe000 | tag);
        return l.offer_packet(0, m);
    };
    for (const int rule : tags) {
        ASSERT_TRUE(
            l.apply(configured(rule == none ? "vlan: untagged" : "vlan: " + std::to_string(rule))));
        size_t passed = 0;
        for (const byte_vector& frame : inner)
            for (const int tag : tags) {
                ASSERT_TRUE(offer(frame, tag));
                l.settle();
                EXPECT_EQ(l.sent(1).size(), tag == rule ? 0U : 1U)
                    << "tag " << tag << ", rule " << rule << ", alone";
                passed += tag != rule;
            }
        for (const byte_vector& frame : inner)
            for (const int tag : tags) ASSERT_TRUE(offer(frame, tag));
        l.settle();
        EXPECT_EQ(l.sent(1).size(), passed) << "rule " << rule << ", mixed";
    }
}

INSTANTIATE_TEST_SUITE_P(acl, routed_tags,
                         ::testing::Values(std::pair{false, false}, std::pair{false, true},
                                           std::pair{true, false}, std::pair{true, true}),
                         [](const auto& of) {
                             return std::string(of.param.first ? "out" : "in") +
                                    (of.param.second ? "_device" : "_frame");
                         });

TEST(acl, a_priority_tag_on_a_port_without_vlans_is_matched) {
    {
        lab l(routed(list("{action: deny, vlan: 0}"), "{in: a}"));
        EXPECT_EQ(l.verdict_of(tagged(udp4(1, 2), 0xe000)), "acl_deny");
        EXPECT_EQ(l.verdict_of(udp4(1, 2)), "forwarded");
    }
    // Behind the tag of a VLAN it is not the outer one.
    lab l(routed_vlans(list("{action: deny, vlan: 0}"), "{in: a}", "{}"));
    EXPECT_EQ(l.verdict_of(tagged(tagged(udp4(1, 2), 0xe000), 100)), "forwarded");
}

TEST(acl, headers_in_several_segments_are_judged_too) {
    lab l(patched(list("{action: deny, protocol: tcp, destination_ports: 80}"), "{in: a}"));
    for (const uint16_t port : {uint16_t{80}, uint16_t{81}}) {
        const byte_vector frame = tcp4(7, port);
        rte_mbuf* first = l.packet_of({frame.begin(), frame.begin() + 20});
        rte_mbuf* second = l.packet_of({frame.begin() + 20, frame.end()});
        ASSERT_EQ(rte_pktmbuf_chain(first, second), 0);
        ASSERT_TRUE(l.offer_packet(0, first));
        l.settle();
        const auto left = l.sent(1);
        ASSERT_EQ(left.size(), port == 80 ? 0U : 1U);
        if (port != 80) {
            EXPECT_EQ(left[0], frame);
        }
    }
    EXPECT_EQ(l.dropped(datapath::drop_reason::acl_deny), 1U);
}

/// Stage ip_fast classifies plain packets at the ingress of a routed port.
TEST(acl, stages_are_billed_where_a_list_is_bound_and_not_there_elsewhere) {
    using datapath::stage;
    const byte_vector gre = ethernet(0x0800, ipv4({.protocol = 47}, counted(4)));
    const auto stages = [](const std::string& configuration, const byte_vector& frame) {
        lab l(configuration);
        EXPECT_EQ(l.verdict_of(frame), "forwarded");
        std::vector<uint64_t> packets;
        for (const stage s : {stage::ip_input, stage::acl_in, stage::acl_out})
            packets.push_back(l.worker().meter().sampled[static_cast<size_t>(s)].packets.read());
        return packets;
    };
    using counts = std::vector<uint64_t>;
    for (const byte_vector& frame : {tcp4(1, 2), gre}) {
        const uint64_t slow = frame == gre ? 1 : 0;
        EXPECT_EQ(stages(routed(list(""), "{}"), frame), (counts{0, 0, 0}));
        EXPECT_EQ(stages(routed(list(""), "{in: a}"), frame), (counts{slow, slow, 0}));
        EXPECT_EQ(stages(routed(list(""), "{}", "{out: a}"), frame), (counts{1, 0, 1}));
        EXPECT_EQ(stages(patched(list(""), "{}"), frame), (counts{0, 0, 0}));
        EXPECT_EQ(stages(patched(list(""), "{in: a}"), frame), (counts{1, 1, 0}));
        EXPECT_EQ(stages(patched(list(""), "{}", "{out: a}"), frame), (counts{1, 0, 1}));
    }
}

}  // namespace
}  // namespace turnpike
