// SPDX-License-Identifier: BSD-3-Clause
// L2 ACLs in the configuration: parsed rules, their YAML, edits, and the error of each invalid one.
#include "complaints.hpp"
#include "sources/edits.hpp"
#include "sources/yaml_writer.hpp"
#include "state/l2_match.hpp"

namespace turnpike::sources {
namespace {

using namespace state;
using row = complaint_row;

class l2_said : public ::testing::TestWithParam<row> {};
TEST_P(l2_said, where_and_why) { expect_complaint(GetParam()); }

constexpr const char* l2_list = R"(acl:
  - {name: frames, layer: 2, default: permit, memory_mb: 16, rules: [
      {action: deny, name: one, source_mac: 02:00:00:00:00:07},
      {action: deny, source_mac: 02:aa:bb:00:00:00/ff:ff:ff:00:00:00, ethertype: arp, vlan: 7},
      {action: count, destination_mac: "01:00:00:00:00:00/01:00:00:00:00:00", vlan: untagged},
      {action: permit, ethertype: 0x88b5}, {action: deny, ethertype: llc}]}
  - {name: packets, rules: []}
ports:
  - {name: west, device: net_ring0, acl: {in: packets, l2_in: frames}}
  - {name: east, device: net_null0, acl: {l2_out: frames}}
bridges: [{name: lan, members: [{port: west}, {port: east}]}]
)";

std::string l2_list_with(const std::string& before, const std::string& after) {
    return replaced(l2_list, before, after);
}

TEST(l2_lists, are_read_and_written) {
    const auto m = load_text(l2_list, "f.yaml");
    ASSERT_TRUE(m) << m.error().message();
    EXPECT_EQ(m->interfaces.at("west").acl_in, "packets");
    EXPECT_EQ(m->interfaces.at("west").l2_in, "frames");
    EXPECT_EQ(m->interfaces.at("east").l2_out, "frames");
    const acl_list& l = *m->acls.at("frames");
    EXPECT_TRUE(l.l2 && !m->acls.at("packets")->l2);
    ASSERT_EQ(l.rules.size(), 5U) << "none of turnpike's own";
    const auto bytes = [](const mac_address& of) { return of.text(); };
    EXPECT_EQ(bytes(l2_of(l.rules[0].match).source.value), "02:00:00:00:00:07");
    EXPECT_EQ(bytes(l2_of(l.rules[0].match).source.mask), "ff:ff:ff:ff:ff:ff");
    const l2_match second = l2_of(l.rules[1].match);
    EXPECT_EQ(bytes(second.source.value), "02:aa:bb:00:00:00");
    EXPECT_EQ(bytes(second.source.mask), "ff:ff:ff:00:00:00");
    EXPECT_EQ(second.destination, mac_match{});
    EXPECT_EQ(second.type, (acl::port_range{0x0806, 0x0806}));
    EXPECT_EQ(second.vlan, (acl::masked<uint16_t>{0x8007, 0x8fff}));
    EXPECT_EQ(bytes(l2_of(l.rules[2].match).destination.mask), "01:00:00:00:00:00");
    EXPECT_EQ(l2_of(l.rules[4].match).type, (acl::port_range{0, 1535}));
    const auto again = load_text(to_yaml(*m), "again");
    ASSERT_TRUE(again) << again.error().message() << to_yaml(*m);
    for (size_t i = 0; i < l.rules.size(); ++i)
        EXPECT_EQ(again->acls.at("frames")->rules[i].match, l.rules[i].match) << to_yaml(*m);
    EXPECT_EQ(to_yaml(*again), to_yaml(*m));
}

INSTANTIATE_TEST_SUITE_P(
    lists, l2_said,
    ::testing::Values(
        row{"as a list of packets", l2_list_with("{in: packets, l2_in", "{in: frames, l2_in"),
            "f.yaml:9: port 'west' has 'frames' as its list 'in': that should be one of layer 3"},
        row{"a list of packets as one", l2_list_with("l2_out: frames", "l2_out: packets"),
            "f.yaml:10: port 'east' has 'packets' as its list 'l2_out': that should be one of "
            "layer 2"},
        row{"on a patch",
            l2_list_with("bridges: [{name: lan, members: [{port: west}, {port: east}]}]",
                         "xconnects: [[west, east]]"),
            "f.yaml:9: port 'west' has the L2 list 'frames' and is in no bridge"},
        row{"of layer 1", l2_list_with("layer: 2", "layer: 1"),
            "f.yaml:2: acl[0].layer should be a whole number from 2 to 3, not '1'"},
        row{"a rule of packets", l2_list_with("ethertype: llc", "protocol: tcp"),
            "f.yaml:6: acl[0].rules[4] has no key 'protocol'; it takes action, name, source_mac"},
        row{"a rule of frames in the other",
            l2_list_with("name: packets, rules: []",
                         "name: packets, rules: [{action: deny, ethertype: arp}]"),
            "f.yaml:7: acl[1].rules[0] has no key 'ethertype'"},
        row{"a file", l2_list_with("{action: deny, ethertype: llc}", "{action: deny, file: r}"),
            "f.yaml:6: acl[0].rules[4] names rules of IP packets, and its list is one of layer 2"},
        row{"no address", l2_list_with("02:00:00:00:00:07", "west"),
            "f.yaml:3: acl[0].rules[0].source_mac "},
        row{"no mask", l2_list_with("/ff:ff:ff:00:00:00", "/24"),
            "f.yaml:4: acl[0].rules[1].source_mac "},
        row{"more than the mask", l2_list_with("/ff:ff:ff:00:00:00", "/ff:ff:00:00:00:00"),
            "f.yaml:4: acl[0].rules[1].source_mac is 02:aa:bb:00:00:00/ff:ff:00:00:00:00, which "
            "has bits that its mask leaves out"},
        row{"a length as a type", l2_list_with("0x88b5", "1500"),
            "f.yaml:6: acl[0].rules[3].ethertype should be a number from 0x0600 to 0xffff, ipv4, "
            "arp, ipv6, lldp, llc, not '1500'"},
        row{"a type too long", l2_list_with("0x88b5", "0x10000"),
            "f.yaml:6: acl[0].rules[3].ethertype should be a number"},
        row{"no digits", l2_list_with("0x88b5", "0x"),
            "f.yaml:6: acl[0].rules[3].ethertype should be a number"},
        row{"a VLAN of 4095", l2_list_with("vlan: 7", "vlan: 4095"),
            "f.yaml:4: acl[0].rules[1].vlan should be a whole number from 0 to 4094"},
        row{"a name twice", l2_list_with("{action: permit, ", "{action: permit, name: one, "),
            "f.yaml:6: acl[0].rules[3].name is 'one' again"}),
    test_name);

/// By single rules, and by the list: its family stays unless its rules are replaced.
TEST(l2_lists, are_edited) {
    auto m = load_text(l2_list, "f.yaml");
    ASSERT_TRUE(m);
    const auto expected_text = [&](const std::string& what) {
        auto changed = *m;
        const auto done = edit(changed, "[" + what + "]");
        if (!done) return done.error().message();
        *m = std::move(changed);
        return std::string("done");
    };
    const std::string rule = R"({"add": {"rule": {"list": "frames", "at": 1, "rule": )";
    EXPECT_EQ(expected_text(rule + R"({"action": "deny", "ethertype": "ipv6"}}}})"), "done");
    EXPECT_EQ(l2_of(m->acls.at("frames")->rules[0].match).type.first, 0x86dd);
    EXPECT_NE(expected_text(rule + R"({"action": "deny", "protocol": "tcp"}}}})")
                  .find("has no key 'protocol'"),
              std::string::npos);
    EXPECT_EQ(expected_text(R"({"replace": {"acl": {"name": "frames", "default": "deny"}}})"),
              "done");
    EXPECT_TRUE(m->acls.at("frames")->l2);
    EXPECT_EQ(m->acls.at("frames")->rules.size(), 6U);
    EXPECT_NE(expected_text(R"({"replace": {"acl": {"name": "frames", "layer": 3}}})")
                  .find("the rules must be given, too"),
              std::string::npos);
    EXPECT_NE(
        expected_text(R"({"del": {"acl": {"name": "frames"}}})").find("is bound to port 'west'"),
        std::string::npos);
    EXPECT_NE(expected_text(R"({"del": {"bridge": {"name": "lan"}}})").find("port 'west' "),
              std::string::npos);
}

}  // namespace
}  // namespace turnpike::sources
