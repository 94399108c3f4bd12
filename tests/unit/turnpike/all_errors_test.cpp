// SPDX-License-Identifier: BSD-3-Clause
// A configuration with several errors: each is found, with its place, and none is the consequence of another.
#include <gtest/gtest.h>

#include "sources/yaml.hpp"

namespace turnpike::sources {
namespace {

using strings = std::vector<std::string>;

/// The errors of a text, without its first lines; empty: the text is valid.
strings errors_of(const std::string& text) {
    const auto loaded = load_whole_text(text, "f.yaml");
    strings out;
    if (!loaded)
        for (const error& e : loaded.error()) out.push_back(e.message());
    const auto first = load_text(text, "f.yaml");
    EXPECT_EQ(first.has_value(), out.empty());
    if (!first && !out.empty()) {
        EXPECT_EQ(first.error().message(), out.front());
    }
    return out;
}

/// Whether each error begins with these texts, in order.
void expect_errors(const std::string& text, const strings& beginnings) {
    const strings found = errors_of(text);
    ASSERT_EQ(found.size(), beginnings.size()) << ::testing::PrintToString(found);
    for (size_t i = 0; i < found.size(); ++i)
        EXPECT_TRUE(found[i].starts_with(beginnings[i])) << found[i] << "\n" << beginnings[i];
}

TEST(all_errors, a_valid_text_has_none) {
    EXPECT_EQ(errors_of("ports: [{name: a, device: net_null0, addresses: [10.0.1.1/24]}]\n"),
              strings{});
}

TEST(all_errors, of_keys_and_values_of_every_kind) {
    expect_errors(
        R"(prots: []
mempool: {buffer_sise: 2176, buffers: many}
tx: {drain_us: -1}
acl:
  - {name: edge, rules: [{action: pass}, {action: permit, source: 10.0.0.0/33}, {action: deny}]}
ports:
  - {name: a, device: net_null0, mtu: 1, adresses: [10.0.1.1/24], addresses: [10.0.1.1/240]}
  - {name: b, addresses: [10.0.2.1/24]}
  - {name: c, device: net_null2}
  - {name: d, device: net_null3}
tunnels: [{name: vx, vni: 0, remote: 10.0.2.2, ttl: 255}]
bridges:
  - {name: lan, members: [{port: c, mode: access, vlan: 9999}, {port: nosuch}, d, vx], ageing_s: x}
)",
        {"f.yaml:1: has no key 'prots'", "f.yaml:2: mempool has no key 'buffer_sise'",
         "f.yaml:2: mempool.buffers should be a whole number",
         "f.yaml:3: tx.drain_us should be a whole number", "f.yaml:5: acl[0].rules[0].action",
         "f.yaml:5: acl[0].rules[1].source", "f.yaml:7: ports[0] has no key 'adresses'",
         "f.yaml:7: ports[0].mtu", "f.yaml:7: ports[0].addresses[0]",
         "f.yaml:8: ports[1] lacks the key 'device'", "f.yaml:11: tunnels[0] lacks the key 'local'",
         "f.yaml:11: tunnels[0].vni", "f.yaml:11: tunnels[0].ttl",
         "f.yaml:13: bridges[0].members[0].vlan",
         "f.yaml:13: bridges[0].members[1].port names 'nosuch'", "f.yaml:13: bridges[0].ageing_s"});
}

TEST(all_errors, of_rules_across_objects) {
    expect_errors(R"(vrfs: [{name: red, table: 7}, {name: blue, table: 7}]
ports:
  - {name: a, device: net_null0, addresses: [10.0.1.1/24]}
  - {name: b, device: "net_null0,size=64", addresses: [10.0.1.7/24]}
  - {name: c, device: net_null2, addresses: [10.0.3.1/24], accept_ra: true}
  - {name: d, device: net_null3}
)",
                  {"f.yaml:4: port 'b' has the device 'net_null0'",
                   "f.yaml:1: VRF 'blue' has the table 7", "f.yaml:5: port 'c' has accept_ra",
                   "f.yaml:6: port 'd' has no addresses", "f.yaml:4: port 'b' has 10.0.1.7/24"});
}

TEST(all_errors, of_routes_only_where_the_ports_are_right) {
    const std::string routes = R"(
routes:
  - {to: 10.9.0.0/16, via: 10.0.1.2}
  - {to: 10.9.0.1/16, via: 10.0.1.2}
  - {to: 10.8.0.0/16, via: 10.7.0.1}
neighbours: {static: [{address: 10.0.1.9, mac: x}, {address: 10.7.0.2, mac: "02:00:00:00:00:01"}]}
)";
    expect_errors("ports: [{name: a, device: net_null0, addresses: [10.0.1.1/24]}]" + routes,
                  {"f.yaml:4: routes[1].to", "f.yaml:5: routes[2].via",
                   "f.yaml:6: neighbours.static[0].mac", "f.yaml:6: neighbours.static[1].address"});
    expect_errors("ports: [{name: a, device: net_null0, addresses: [10.0.1.1/33]}]" + routes,
                  {"f.yaml:1: ports[0].addresses[0]"});
}

TEST(all_errors, are_no_more_than_their_limit) {
    std::string text = "ports:\n";
    for (int i = 0; i < 1000; ++i) text += "  - {mtu: 1}\n";
    EXPECT_EQ(errors_of(text).size(), 101U);
    text = "vrfs:\n";
    for (int i = 0; i < 200; ++i) text += "  - {name: v" + std::to_string(i) + ", table: 7}\n";
    text += "ports: [{name: a, device: net_null0, addresses: [10.0.1.1/24]}]\n";
    EXPECT_EQ(errors_of(text).size(), 100U);
}

}  // namespace
}  // namespace turnpike::sources
