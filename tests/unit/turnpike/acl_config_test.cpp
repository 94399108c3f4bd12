// SPDX-License-Identifier: BSD-3-Clause
// ACLs in the configuration: parsed rules, and the error of each invalid one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "complaints.hpp"
#include "sources/yaml_writer.hpp"

namespace turnpike::sources {
namespace {

using namespace state;

constexpr const char* whole_list = R"(acl:
  - name: edge
    default: permit
    memory_mb: 16
    rules:
      - {action: count, name: web-bytes, protocol: tcp, destination_ports: 80}
      - {action: permit, name: web, protocol: tcp, source: 10.0.0.0/8, destination_ports: 80-81}
      - {action: deny, protocol: icmp, icmp_type: 8, icmp_code: 0}
      - {action: deny, source: "2001:db8::/32", dscp: 46, vlan: 7}
      - {action: deny, protocol: tcp, tcp_flags: "+syn -ack"}
      - {action: deny, fragments: true}
      - {action: permit, family: ipv6, protocol: 89}
  - {name: closed, rules: []}
ports:
  - {name: west, device: net_ring0, acl: {in: edge, out: closed}}
  - {name: east, device: net_null0}
xconnects: [[west, east]]
)";

std::string list_with(const std::string& before, const std::string& after) {
    return replaced(whole_list, before, after);
}

TEST(acl_config, a_whole_file) {
    const auto m = load_text(whole_list, "f.yaml");
    ASSERT_TRUE(m) << m.error().message();
    ASSERT_EQ(m->acls.size(), 2U);
    const auto first = m->interfaces.begin(), second = std::next(first);
    EXPECT_EQ(first->second.acl_in, m->acls.begin()->first);
    EXPECT_EQ(first->second.acl_out, std::next(m->acls.begin())->first);
    EXPECT_TRUE(second->second.acl_in.empty() && second->second.acl_out.empty());
    const acl_list& edge = *m->acls.begin()->second;
    EXPECT_TRUE(edge.default_permits);
    EXPECT_EQ(edge.memory_mb, 16U);
    EXPECT_EQ(edge.categories, 4U);
    EXPECT_EQ(edge.where.text, "f.yaml:2");
    ASSERT_EQ(edge.rules.size(), 8U);  // tiny-fragment first
    EXPECT_EQ(edge.rules[0].name, "tiny-fragment");
    EXPECT_EQ(edge.rules[0].where.text, "");
    for (const acl_rule& r : edge.rules)
        EXPECT_EQ(r.match.categories, r.action == acl_action::count ? 2U : 1U);
    const acl_rule& web = edge.rules[2];
    EXPECT_EQ(web.name, "web");
    EXPECT_EQ(web.where.text, "f.yaml:7");
    EXPECT_TRUE(web.ipv4 && !web.ipv6);
    EXPECT_EQ(web.match.destination_port, (acl::port_range{80, 81}));
    EXPECT_EQ(web.match.tcp_flags.value, acl_key::has_ports);
    const acl_rule& ping = edge.rules[3];
    EXPECT_TRUE(ping.ipv4 && !ping.ipv6);
    EXPECT_EQ(ping.match.icmp_type, 8);
    EXPECT_EQ(ping.match.icmp_code, 0);
    EXPECT_EQ(ping.match.tcp_flags.value, acl_key::has_icmp_type);
    const acl_rule& v6 = edge.rules[4];
    EXPECT_TRUE(!v6.ipv4 && v6.ipv6);
    EXPECT_EQ(v6.match.dscp, (acl::masked<uint8_t>{46 << 2, 0xfc}));
    EXPECT_EQ(v6.match.vlan, (acl::masked<uint16_t>{0x8007, 0x8fff}));
    EXPECT_EQ(
        edge.rules[5].match.tcp_flags,
        (acl::masked<uint16_t>{acl_key::has_tcp_flags | 0x02, acl_key::has_tcp_flags | 0x12}));
    EXPECT_EQ(edge.rules[6].match.tcp_flags.value, acl_key::later_fragment);
    EXPECT_TRUE(edge.rules[6].ipv4 && edge.rules[6].ipv6);
    const acl_list& closed = *std::next(m->acls.begin())->second;
    EXPECT_FALSE(closed.default_permits);
    EXPECT_EQ(closed.categories, 1U);
    ASSERT_EQ(closed.rules.size(), 2U);
    EXPECT_EQ(closed.rules[1].name, "neighbour-discovery");
}

using row = complaint_row;

class acl_said : public ::testing::TestWithParam<row> {};

TEST_P(acl_said, where_and_why) { expect_complaint(GetParam()); }

/// The rule of line 7 is this.
std::string rule(const std::string& text) {
    return list_with(
        "{action: permit, name: web, protocol: tcp, source: 10.0.0.0/8, destination_ports: "
        "80-81}",
        "{action: permit, " + text + "}");
}

INSTANTIATE_TEST_SUITE_P(
    lists, acl_said,
    ::testing::Values(
        row{"not a list", list_with("acl:\n  - name: edge", "acl:\n  name: edge"),
            "f.yaml:3: is not YAML"},
        row{"a map", "acl: {a: 1}\nports: []",
            "f.yaml:1: acl should be a list of access lists, not a map"},
        row{"no name", list_with("name: closed, ", ""), "f.yaml:13: acl[1] lacks the key 'name'"},
        row{"strange name", list_with("name: closed", "name: \"clo sed\""),
            "f.yaml:13: acl[1].name should be at most 32 letters"},
        row{"name twice", list_with("name: closed", "name: edge"),
            "f.yaml:13: acl[1].name is 'edge' again; names of access lists are unique"},
        row{"no rules", list_with(", rules: []", ""), "f.yaml:13: acl[1] lacks the key 'rules'"},
        row{"unknown key", list_with("default: permit", "defualt: permit"),
            "f.yaml:3: acl[0] has no key 'defualt'; it takes name, layer, default, memory_mb, "
            "rules"},
        row{"default of nothing", list_with("default: permit", "default: drop"),
            "f.yaml:3: acl[0].default should be deny or permit, not 'drop'"},
        row{"no memory", list_with("memory_mb: 16", "memory_mb: 0"),
            "f.yaml:4: acl[0].memory_mb should be a whole number from 1 to 65536, not '0'"},
        row{"bound to no list", list_with("in: edge", "in: egde"),
            "f.yaml:15: ports[0].acl.in names 'egde', which is not an access list (acl)"},
        row{"bound to no list out", list_with("out: closed", "out: colsed"),
            "f.yaml:15: ports[0].acl.out names 'colsed', which is not an access list (acl)"},
        row{"bound in no direction", list_with("in: edge", "into: edge"),
            "f.yaml:15: ports[0].acl has no key 'into'; it takes in, out, l2_in, l2_out"},
        row{"bound without a direction", list_with("{in: edge, out: closed}", "edge"),
            "f.yaml:15: ports[0].acl should be a map with in, out, l2_in, l2_out, not 'edge'"}),
    test_name);

INSTANTIATE_TEST_SUITE_P(
    rules, acl_said,
    ::testing::Values(
        row{"no action", list_with("{action: permit, name: web", "{name: web"),
            "f.yaml:7: acl[0].rules[1] lacks the key 'action'"},
        row{"unknown action", list_with("{action: permit, name: web", "{action: drop, name: web"),
            "f.yaml:7: acl[0].rules[1].action should be permit or deny or count, not 'drop'"},
        row{"unknown key", rule("port: 80"),
            "f.yaml:7: acl[0].rules[1] has no key 'port'; it takes action, name, family"},
        row{"everything", rule("name: all"), "none"},
        row{"name twice", rule("name: web-bytes"),
            "f.yaml:7: acl[0].rules[1].name is 'web-bytes' again, or a reserved name"},
        row{"name of ours", rule("name: default"),
            "f.yaml:7: acl[0].rules[1].name is 'default' again, or a reserved name"},
        row{"unknown family", rule("family: ip"),
            "f.yaml:7: acl[0].rules[1].family should be ipv4 or ipv6, not 'ip'"},
        row{"family and address", rule("family: ipv6, source: 10.0.0.0/8"),
            "f.yaml:7: acl[0].rules[1].source is of IPv4, and family is of IPv6"},
        row{"two families", rule("source: 10.0.0.0/8, destination: \"2001:db8::/32\""),
            "f.yaml:7: acl[0].rules[1].destination is of IPv6, and source is of IPv4"},
        row{"ICMP and IPv6", rule("protocol: icmp, source: \"2001:db8::/32\""),
            "f.yaml:7: acl[0].rules[1].source is of IPv6, and protocol is of IPv4"},
        row{"ICMPv6 by its number and IPv4", rule("protocol: 58, source: 10.0.0.0/8"),
            "f.yaml:7: acl[0].rules[1].source is of IPv4, and protocol is of IPv6"},
        row{"host bits", rule("source: 10.0.0.1/8"),
            "f.yaml:7: acl[0].rules[1].source is 10.0.0.1/8, which has host bits set: it should "
            "be 10.0.0.0/8"},
        row{"no length", rule("source: 10.0.0.1/"),
            "f.yaml:7: acl[0].rules[1].source should have a length"},
        row{"a host", rule("source: 10.0.0.1"), "none"},
        row{"unknown protocol", rule("protocol: tpc"),
            "f.yaml:7: acl[0].rules[1].protocol should be a number from 0 to 255, icmp, igmp"},
        row{"protocol 256", rule("protocol: 256"),
            "f.yaml:7: acl[0].rules[1].protocol should be a whole number from 0 to 255, not '256'"},
        row{"ports of nothing", rule("destination_ports: 80"),
            "f.yaml:7: acl[0].rules[1].destination_ports needs protocol: tcp, udp"},
        row{"ports of ICMP", rule("protocol: icmp, source_ports: 80"),
            "f.yaml:7: acl[0].rules[1].source_ports needs protocol: tcp, udp"},
        row{"ports backwards", rule("protocol: udp, source_ports: 81-80"),
            "f.yaml:7: acl[0].rules[1].source_ports is 81-80, which ends before it begins"},
        row{"port 65536", rule("protocol: udp, source_ports: 65536"),
            "f.yaml:7: acl[0].rules[1].source_ports should be a port or a range, as in 80 or"},
        row{"port open at the end", rule("protocol: udp, source_ports: 80-"),
            "f.yaml:7: acl[0].rules[1].source_ports should be a port or a range"},
        row{"port with a tail", rule("protocol: udp, source_ports: 80-81x"),
            "f.yaml:7: acl[0].rules[1].source_ports should be a port or a range"},
        row{"port by name", rule("protocol: udp, source_ports: dns"),
            "f.yaml:7: acl[0].rules[1].source_ports should be a port or a range, as in 80 or "
            "1024-65535, not 'dns'"},
        row{"TCP flags of UDP", rule("protocol: udp, tcp_flags: +syn"),
            "f.yaml:7: acl[0].rules[1].tcp_flags needs protocol: tcp"},
        row{"TCP flag without a sign", rule("protocol: tcp, tcp_flags: syn"),
            "f.yaml:7: acl[0].rules[1].tcp_flags should be flags that are set or clear"},
        row{"TCP flag twice", rule("protocol: tcp, tcp_flags: +syn -syn"),
            "f.yaml:7: acl[0].rules[1].tcp_flags should be flags that are set or clear, each once"},
        row{"unknown TCP flag", rule("protocol: tcp, tcp_flags: +sny"),
            "f.yaml:7: acl[0].rules[1].tcp_flags should be flags"},
        row{"ICMP type of TCP", rule("protocol: tcp, icmp_type: 8"),
            "f.yaml:7: acl[0].rules[1].icmp_type needs protocol: icmp or icmpv6"},
        row{"ICMP type 256", rule("protocol: icmp, icmp_type: 256"),
            "f.yaml:7: acl[0].rules[1].icmp_type should be a whole number from 0 to 255"},
        row{"ICMP code alone", rule("protocol: icmp, icmp_code: 0"),
            "f.yaml:7: acl[0].rules[1].icmp_code needs an icmp_type"},
        row{"DSCP 64", rule("dscp: 64"),
            "f.yaml:7: acl[0].rules[1].dscp should be a whole number from 0 to 63"},
        row{"VLAN 4095", rule("vlan: 4095"),
            "f.yaml:7: acl[0].rules[1].vlan should be a whole number from 0 to 4094"},
        row{"untagged", rule("vlan: untagged"), "none"},
        row{"fragments of ports", rule("protocol: tcp, source_ports: 80, fragments: true"),
            "f.yaml:7: acl[0].rules[1].fragments asks for later fragments, which have no ports"},
        row{"no fragments of ports", rule("protocol: tcp, source_ports: 80, fragments: false"),
            "none"},
        row{"fragments, perhaps", rule("fragments: maybe"),
            "f.yaml:7: acl[0].rules[1].fragments should be false or true, not 'maybe'"}),
    test_name);

/// Count rules that overlap each other need a category each, and there are 15.
std::string counts(int overlapping, int apart) {
    std::string text = "acl:\n  - name: a\n    rules:\n";
    for (int i = 0; i < overlapping; ++i)
        text += "      - {action: count, destination: 10.0.0.0/" + std::to_string(8 + i) + "}\n";
    for (int i = 0; i < apart; ++i)
        text += "      - {action: count, protocol: udp, source: 192.0.2.0/24, source_ports: " +
                std::to_string(i) + "}\n";
    return text + "ports:\n  - {name: w, device: d0, addresses: [10.0.0.1/24], acl: {in: a}}\n";
}

TEST(acl_config, count_rules_that_meet_are_kept_apart) {
    const auto m = load_text(counts(14, 1000), "f.yaml");
    ASSERT_TRUE(m) << m.error().message();
    EXPECT_EQ(m->acls.begin()->second->categories, 16U);
    uint32_t seen = 0;
    for (const acl_rule& r : m->acls.begin()->second->rules)
        if (r.match.source.mask[0] == 0 && r.action == acl_action::count) {
            EXPECT_EQ(seen & r.match.categories, 0U);
            seen |= r.match.categories;
        }
    EXPECT_EQ(
        complaint_about(counts(15, 1)).substr(0, 83),
        "f.yaml:19: access list 'a': this count rule may match the same packets as count rul");
    EXPECT_EQ(complaint_about(counts(15, 0)), "none");
    // Rules of the other family never match the same packets.
    std::string text = counts(15, 1);
    text.replace(text.find("source: 192.0.2.0/24"), 20, "family: ipv6");
    EXPECT_EQ(complaint_about(text), "none");
}

/// A rule that counts: wildcards, prefixes, ports and protocols by a generator of pseudo-random numbers.
acl_rule random_count(std::mt19937& generator) {
    const auto one_of = [&](uint32_t n) { return static_cast<uint32_t>(generator() % n); };
    acl_rule r;
    r.action = acl_action::count;
    const auto address = [&] {
        const std::array<uint8_t, 4> bytes{10, static_cast<uint8_t>(one_of(4)),
                                           static_cast<uint8_t>(one_of(4)),
                                           static_cast<uint8_t>(one_of(256))};
        return acl::prefix(bytes, one_of(4) == 0 ? 24 : 32);
    };
    r.match.source = address();
    if (one_of(2) == 0) r.match.destination = address();
    if (one_of(2) == 0) {
        r.match.protocol = {static_cast<uint8_t>(one_of(2) == 0 ? 6 : 17), 0xff};
        const auto first = static_cast<uint16_t>(one_of(1000));
        r.match.destination_port = {first, static_cast<uint16_t>(first + one_of(300))};
    }
    r.ipv4 = one_of(8) != 0;
    r.ipv6 = !r.ipv4 || one_of(8) == 0;
    return r;
}

/// Whether a packet can match two masked fields.
template <class Value, class Mask>
bool meet(const Value& a, const Mask& a_mask, const Value& b, const Mask& b_mask) {
    return ((a ^ b) & a_mask & b_mask) == 0;
}

bool meet(const acl_rule& a, const acl_rule& b) {
    const auto addresses = [](const acl::address_match& x, const acl::address_match& y) {
        for (size_t i = 0; i < x.value.size(); ++i)
            if (!meet(x.value[i], x.mask[i], y.value[i], y.mask[i])) return false;
        return true;
    };
    return ((a.ipv4 && b.ipv4) || (a.ipv6 && b.ipv6)) &&
           addresses(a.match.source, b.match.source) &&
           addresses(a.match.destination, b.match.destination) &&
           meet(a.match.protocol.value, a.match.protocol.mask, b.match.protocol.value,
                b.match.protocol.mask) &&
           a.match.destination_port.first <= b.match.destination_port.last &&
           b.match.destination_port.first <= a.match.destination_port.last;
}

TEST(acl_config, count_rules_are_divided_as_by_comparing_all) {
    std::mt19937 generator(7);
    size_t divided = 0;
    for (unsigned round = 0; round < 40; ++round) {
        acl_list list;
        list.name = "a";
        const size_t rules = 20 + generator() % 300;
        for (size_t i = 0; i < rules; ++i) list.rules.push_back(random_count(generator));
        std::vector<std::vector<acl_rule>> groups;
        for (const acl_rule& r : list.rules) {
            const auto at = std::ranges::find_if(groups, [&](const auto& group) {
                return std::ranges::none_of(group, [&](const acl_rule& o) { return meet(r, o); });
            });
            if (at == groups.end())
                groups.push_back({r});
            else
                at->push_back(r);
        }
        const auto done = divide_counts(list);
        ASSERT_EQ(bool(done), groups.size() < acl::max_categories) << "round " << round;
        if (!done) continue;
        divided += groups.size();
        std::vector<size_t> taken(groups.size(), 0);
        for (const acl_rule& r : list.rules) {
            const auto group = static_cast<size_t>(std::countr_zero(r.match.categories)) - 1;
            ASSERT_LT(group, groups.size());
            ASSERT_LT(taken[group], groups[group].size());
            EXPECT_EQ(r.match,
                      [&] {
                          acl::rule expected = groups[group][taken[group]].match;
                          expected.categories = r.match.categories;
                          return expected;
                      }())
                << "round " << round;
            ++taken[group];
        }
    }
    EXPECT_GT(divided, 40U);
}

/// CPU seconds that it takes to divide n rules, one for each host.
/// two_blocks  TCP by source, then UDP by destination: nothing overlaps, though a bit of an address does not say so
double seconds_to_divide(uint32_t n, bool two_blocks = false) {
    acl_list list;
    list.name = "a";
    for (uint32_t i = 0; i < n; ++i) {
        acl_rule r;
        r.action = acl_action::count;
        const std::array<uint8_t, 4> host{10, static_cast<uint8_t>(i >> 16),
                                          static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i)};
        (two_blocks && i < n / 2 ? r.match.source : r.match.destination) = acl::prefix(host, 32);
        if (two_blocks) r.match.protocol = {static_cast<uint8_t>(i < n / 2 ? 6 : 17), 0xff};
        list.rules.push_back(r);
    }
    const auto now = [] {
        timespec t{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
    };
    const double began = now();
    EXPECT_TRUE(divide_counts(list));
    EXPECT_EQ(list.categories, 4U);
    return now() - began;
}

/// By comparing each two, eight times as many rules take 64 times as long.
TEST(acl_config, many_count_rules_take_no_square_of_time) {
    const double few = seconds_to_divide(4000), many = seconds_to_divide(32000);
    EXPECT_LT(many, 24 * few) << few << " s, " << many << " s";
    const double few_of_two = seconds_to_divide(4000, true),
                 many_of_two = seconds_to_divide(32000, true);
    EXPECT_LT(many_of_two, 24 * few_of_two) << few_of_two << " s, " << many_of_two << " s";
}

/// `protocol: icmp` is of IPv4 and `icmpv6` of IPv6; a ClassBench line takes each with either version's addresses.
TEST(acl_config, classbench_rules_for_icmp_of_the_other_version_are_saved) {
    std::string text = "acl:\n  - name: a\n    rules:\n";
    for (const char* addresses : {"@192.0.2.0/24 0.0.0.0/0", "@2001:db8::/32 ::/0"}) {
        text += "      - action: deny\n        lines: |\n";
        for (const char* protocol : {"0x01", "0x3A"})
            for (const char* type : {"0x0000/0x0000", "0x0800/0xff00", "0x0303/0xffff"})
                text += std::string("          ") + addresses + " 0 : 65535 0 : 65535 " + protocol +
                        "/0xFF " + type + "\n";
    }
    text += "ports:\n  - {name: w, device: d0, addresses: [10.0.0.1/24], acl: {in: a}}\n";
    const auto read = load_text(text, "f.yaml");
    ASSERT_TRUE(read) << read.error().message();
    const std::string saved = to_yaml(*read);
    const auto again = load_text(saved, "saved.yaml");
    ASSERT_TRUE(again) << again.error().message() << "\n" << saved;
    EXPECT_EQ(again->acls.at("a")->rules, read->acls.at("a")->rules) << saved;
    EXPECT_EQ(to_yaml(*again), saved);
}

class acl_files : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = std::filesystem::temp_directory_path() / "turnpike-acl-XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
    }
    void TearDown() override { std::filesystem::remove_all(folder); }
    /// A list of these rules; `entry` is on line 4.
    [[nodiscard]] result<state::configuration> loaded(
        const std::string& rules, const std::string& entry = "{action: deny, file: r}") const {
        std::ofstream(folder / "r") << rules;
        std::ofstream(folder / "f.yaml")
            << "acl:\n  - name: a\n    rules:\n      - " << entry << "\n"
            << "ports:\n  - {name: w, device: d0, addresses: [10.0.0.1/24], acl: {in: a}}\n";
        return load(folder / "f.yaml");
    }
    std::filesystem::path folder;
};

TEST_F(acl_files, rules_of_a_file_stand_where_it_is_named) {
    const auto m = loaded(
        "# two\n"
        "@10.0.0.0/8 0.0.0.0/0 0 : 65535 80 : 81 0x06/0xFF 0x0200/0x1200\n"
        "@0.0.0.0/0 10.0.0.0/8 0 : 65535 0 : 65535 0x01/0xFF 0x0303/0xffff\n"
        "@0.0.0.0/0 10.0.0.0/8 0 : 65535 0 : 65535 0x01/0xFF 0x0800/0xff00\n"
        "@0.0.0.0/0 10.0.0.0/8 0 : 65535 53 : 53 0x00/0x00 0x0000/0x0000\n");
    ASSERT_TRUE(m) << m.error().message();
    const auto& rules = m->acls.begin()->second->rules;
    ASSERT_EQ(rules.size(), 6U);
    EXPECT_EQ(rules[1].where.text, "r:2");
    EXPECT_EQ(rules[1].action, acl_action::deny);
    EXPECT_TRUE(rules[1].ipv4 && !rules[1].ipv6);
    constexpr uint16_t known = acl_key::has_ports | acl_key::has_tcp_flags;
    EXPECT_EQ(rules[1].match.tcp_flags, (acl::masked<uint16_t>{known | 0x02, known | 0x12}));
    EXPECT_EQ(rules[2].match.icmp_type, 3);
    EXPECT_EQ(rules[2].match.icmp_code, 3);
    EXPECT_EQ(rules[3].match.icmp_type, 8);
    EXPECT_FALSE(rules[3].match.icmp_code);
    EXPECT_EQ(rules[4].match.tcp_flags.value, acl_key::has_ports);
}

TEST_F(acl_files, may_begin_with_a_byte_order_mark) {
    const std::string rule = "@10.0.0.0/8 0.0.0.0/0 0 : 65535 80 : 81 0x06/0xFF 0x0000/0x0000\n";
    const auto m = loaded("\xef\xbb\xbf" + rule);
    ASSERT_TRUE(m) << m.error().message();
    EXPECT_EQ(m->acls.begin()->second->rules.size(),
              loaded(rule)->acls.begin()->second->rules.size());
    const auto utf_16 = loaded("\xff\xfe@");
    ASSERT_FALSE(utf_16);
    EXPECT_NE(utf_16.error().message().find("r is UTF-16 text; save it as UTF-8"),
              std::string::npos);
}

TEST_F(acl_files, what_is_wrong_with_one) {
    const std::string at = (folder / "f.yaml").string() + ":4: acl[0].rules[0]";
    const std::pair<const char*, std::string> rows[] = {
        {"nonsense\n", ".file cannot be taken: r:1: '@' is missing"},
        {"\n@10.0.0.0/8 0.0.0.0/0 0 : 65535 0 : 65535 0x11/0xFF 0x0200/0x1200\n",
         ".file cannot be taken: r:2: the last field should be TCP flags in the high byte"},
        {"@10.0.0.0/8 0.0.0.0/0 0 : 65535 0 : 65535 0x06/0xFF 0x0002/0x0012\n",
         ".file cannot be taken: r:1: the last field should be TCP flags in the high byte"},
        {"@10.0.0.0/8 0.0.0.0/0 0 : 65535 0 : 65535 0x01/0xFF 0x0002/0x00ff\n",
         ".file cannot be taken: r:1: the last field should be"},
        {"@10.0.0.0/8 0.0.0.0/0 1 : 1 0 : 65535 0x01/0xFF 0x0800/0xff00\n",
         ".file cannot be taken: r:1: an ICMP type or code needs protocol 1 or 58 and takes no"},
    };
    for (const auto& [rules, expected_text] : rows) {
        const auto m = loaded(rules);
        ASSERT_FALSE(m) << rules;
        EXPECT_EQ(m.error().message().substr(0, at.size() + expected_text.size()),
                  at + expected_text);
    }
    const auto none = loaded("", "{action: deny, file: none}");
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message().find(at + ".file cannot be taken: "), std::string::npos);
    EXPECT_NE(none.error().message().find("No such file"), std::string::npos);
    const auto folder_named = loaded("", "{action: deny, file: .}");
    ASSERT_FALSE(folder_named);
    EXPECT_NE(folder_named.error().message().find("is not a regular file"), std::string::npos);
    const auto named = loaded("", "{action: deny, file: r, name: n}");
    ASSERT_FALSE(named);
    EXPECT_NE(named.error().message().find("has no key 'name'; it takes action, file"),
              std::string::npos);
    EXPECT_TRUE(loaded(""));
}

}  // namespace
}  // namespace turnpike::sources
