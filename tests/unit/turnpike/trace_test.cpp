// SPDX-License-Identifier: BSD-3-Clause
// Packet traces: recorded by workers while they forward, and of a synthetic frame.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "trace_lab.hpp"
#include "tunnel_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::packet_trace, datapath::stage;
using nlohmann::json;

const char* const router =
    "ports:\n"
    "  - {name: p0, device: net_x0, addresses: [10.0.0.1/24, \"2001:db8::1/64\"]}\n"
    "  - {name: p1, device: net_x1, addresses: [10.1.0.1/24]}\n"
    "routes:\n  - {to: 10.9.0.0/16, via: 10.1.0.2}\n  - {to: 10.8.0.0/16, type: blackhole}\n"
    "neighbours: {static: [{address: 10.1.0.2, port: p1, mac: \"02:00:00:00:09:02\"},\n"
    "                      {address: 10.0.0.5, port: p0, mac: \"02:00:00:00:00:05\"}]}\n";

byte_vector to(uint32_t destination, uint8_t ttl = 64, uint8_t mac = 0x0b) {
    return ethernet(
        0x0800,
        ipv4({.ttl = ttl, .source = 0x0a000005, .destination = destination}, udp(counted(20))),
        {2, 0, 0, 0, 0, mac}, {2, 0, 0, 0, 0, 5});
}
/// Requests a trace of one packet, and offers it.
json traced(path_lab& l, const byte_vector& frame, uint16_t port = 0, json wish = json::object()) {
    wish["request"] = "trace";
    result_of(l, wish);
    EXPECT_TRUE(l.offer(port, frame));
    l.settle();
    return result_of(l, {{"request", "show"}, {"what", "trace"}});
}

TEST(trace, counts_a_burst_once) {
    running_lab l(router);
    const auto bursts = [&] { return l.controller().report().ports.at(0).totals.rx_load.bursts; };
    const auto offer = [&] {
        for (int i = 0; i < 3; ++i) ASSERT_TRUE(l.offer(0, to(0x0a090001)));
        l.settle();
    };
    const uint64_t before = bursts();
    offer();
    const uint64_t untraced = bursts() - before;
    result_of(l, {{"request", "trace"}, {"packets", 8}});
    offer();
    EXPECT_EQ(bursts() - before, 2 * untraced);
    EXPECT_EQ(result_of(l, {{"request", "show"}, {"what", "trace"}})["traces"].size(), 3U);
    finish(l);
}

TEST(trace, is_the_way_that_packets_went) {
    running_lab l(router);
    const byte_vector frame = to(0x0a090001);
    ASSERT_TRUE(l.offer(0, frame));
    l.settle();
    const auto untraced = l.sent(1);
    const json all = traced(l, frame);
    EXPECT_EQ(l.sent(1), untraced);
    ASSERT_EQ(all["traces"].size(), 1U) << all.dump(1);
    const json& one = all["traces"][0];
    EXPECT_EQ(stages_of(one), "rx iface_input ip_fast tx");
    EXPECT_EQ(one["port"], "p0");
    EXPECT_EQ(one["received"]["destination"], "10.9.0.1");
    EXPECT_EQ(one["received"]["bytes"], frame.size());
    EXPECT_EQ(one["path"][1]["interface"], "p0");
    EXPECT_EQ(one["path"][3]["egress"], "p1");
    EXPECT_EQ(one["sent"]["destination_mac"], "02:00:00:00:09:02");
    EXPECT_EQ(all["requested"], 10);
    EXPECT_TRUE(all["next"].is_null());
    finish(l);
}

TEST(trace, says_why_a_packet_was_dropped) {
    running_lab l(router);
    const json path = traced(l, to(0x0a080001))["traces"][0]["path"];
    EXPECT_EQ(path.back()["stage"], "drop");
    EXPECT_EQ(path.back()["reason"], "route_blackhole");
    const json punted = traced(l, to(0x0a090001, 1))["traces"][0]["path"];
    EXPECT_EQ(punted.back()["stage"], "punt");
    EXPECT_EQ(punted.back()["why"], "icmp_error");
    EXPECT_EQ(punted.back()["reason"], "ipv4_ttl");
    EXPECT_EQ(l.dropped(datapath::drop_reason::route_blackhole), 1U);
    finish(l);
}

TEST(trace, is_of_those_that_are_wanted) {
    running_lab l(router);
    const auto ask_for = [&](json wish) {
        wish["request"] = "trace";
        result_of(l, wish);
        for (const auto& frame : {to(0x0a090001), to(0x0a090002), to(0x0a080001)})
            EXPECT_TRUE(l.offer(0, frame));
        EXPECT_TRUE(l.offer(1, to(0x0a090001, 64, 0x0c)));
        l.settle();
        std::string out;
        const json all = result_of(l, {{"request", "show"}, {"what", "trace"}});
        for (const json& one : all["traces"])
            out += one["port"].get<std::string>() + ":" +
                   one["received"]["destination"].get<std::string>() + " ";
        return out;
    };
    EXPECT_EQ(ask_for({}), "p0:10.9.0.1 p0:10.9.0.2 p0:10.8.0.1 p1:10.9.0.1 ");
    EXPECT_EQ(ask_for({{"packets", 2}}), "p0:10.9.0.1 p0:10.9.0.2 ");
    EXPECT_EQ(ask_for({{"packets", 0}}), "");
    EXPECT_EQ(ask_for({{"port", "p1"}}), "p1:10.9.0.1 ");
    EXPECT_EQ(ask_for({{"address", "10.9.0.2"}}), "p0:10.9.0.2 ");
    EXPECT_EQ(ask_for({{"address", "10.0.0.5"}, {"packets", 1}}), "p0:10.9.0.1 ");
    EXPECT_EQ(ask_for({{"address", "2001:db8::5"}}), "");
    EXPECT_EQ(ask_for({{"dropped", true}}), "p0:10.8.0.1 ");
    finish(l);
}

TEST(trace, goes_by_the_page_and_in_bounds) {
    running_lab l(router);
    result_of(l, {{"request", "trace"}, {"packets", 40}});
    for (uint32_t i = 0; i < 50; ++i) {
        ASSERT_TRUE(l.offer(0, to(0x0a090000 + i)));
        if (i % 8 == 0) l.settle();
    }
    l.settle();
    const json first = result_of(l, {{"request", "show"}, {"what", "trace"}});
    EXPECT_EQ(first["traces"].size(), 32U);
    EXPECT_EQ(first["written"], 40);
    const json rest =
        result_of(l, {{"request", "show"}, {"what", "trace"}, {"from", first["next"]}});
    ASSERT_EQ(rest["traces"].size(), 8U);
    EXPECT_EQ(rest["traces"][7]["received"]["destination"], "10.9.0.39");
    for (const json& wrong : {json{{"packets", 1001}}, json{{"packets", -1}}, json{{"port", "p9"}},
                              json{{"address", "x"}}, json{{"packet", 1}}, json{{"dropped", 1}}}) {
        json request = wrong;
        request["request"] = "trace";
        EXPECT_TRUE(ask(l, request).contains("error")) << request.dump();
    }
    finish(l);
}

/// Both passes of a decapsulated packet, and of an encapsulated one; copies of a flood.
TEST(trace, goes_through_tunnels_and_floods) {
    tunnel_lab l(underlay() + "tunnels:\n" + one_tunnel("t2", "10.0.9.2") +
                 one_tunnel("t3", "10.0.9.3") +
                 bridge("{port: p0}, {port: p1}, {port: t2}, {port: t3}"));
    const json out = traced(l, in_ipv4(vxlan(frame(everybody, fdb_entry(9)))), 2)["traces"][0];
    EXPECT_EQ(stages_of(out), "rx iface_input vxlan_fast bridge flood +tx tx") << out.dump(1);
    EXPECT_EQ(out["path"].back()["egress"], "p1");
    const json in = traced(l, frame(everybody, fdb_entry(1)))["traces"][0];
    EXPECT_EQ(stages_of(in), "rx iface_input bridge flood +tx +vxlan_output +tx vxlan_output tx")
        << in.dump(1);
    EXPECT_EQ(in["path"].back()["egress"], "up");
    EXPECT_GT(in["sent"]["bytes"], in["received"]["bytes"]);
    finish(l);
}

/// The explanation of a frame matches its forwarding; and explain changes nothing.
TEST(explain, says_what_happens_and_does_nothing) {
    running_lab l(router);
    const auto explained = [&](const byte_vector& frame) {
        return result_of(l, {{"request", "explain"}, {"port", "p0"}, {"frame", hex_of(frame)}});
    };
    const json before = result_of(l, {{"request", "show"}, {"what", "report"}});
    const json sent = explained(to(0x0a090001));
    EXPECT_EQ(stages_of(sent), "rx iface_input ip_fast ip_input lookup ip_forward tx");
    EXPECT_EQ(sent["path"][4]["next_hop"]["via"], "10.1.0.2");
    EXPECT_EQ(sent["path"].back()["egress"], "p1");
    EXPECT_EQ(explained(to(0x0a080001))["path"].back()["reason"], "route_blackhole");
    EXPECT_EQ(explained(to(0x0a090001, 1))["path"].back()["reason"], "ipv4_ttl");
    EXPECT_EQ(explained(to(0x0a010009))["path"].back()["why"], "resolve");
    EXPECT_EQ(explained(to(0x0a000001))["path"].back()["why"], "local");
    EXPECT_EQ(explained({1, 2, 3})["path"].back()["reason"], "runt");
    l.settle();
    EXPECT_TRUE(l.sent(0).empty());
    EXPECT_TRUE(l.sent(1).empty());
    const json after = result_of(l, {{"request", "show"}, {"what", "report"}});
    EXPECT_EQ(after["ports"][0]["rx_packets"], before["ports"][0]["rx_packets"]);
    EXPECT_EQ(after["ports"][0]["drops"], before["ports"][0]["drops"]);
    l.links(false);
    EXPECT_EQ(explained(to(0x0a090001))["path"].back()["reason"], "port_down");
    l.links(true);
    l.settle();  // what it announces
    finish(l);
}

/// To a multicast group: by its Ethernet address.
TEST(explain, knows_groups) {
    tunnel_lab l(underlay() + "tunnels:\n" + one_tunnel("t2", "10.0.9.2") +
                 one_tunnel("g", "239.1.2.3", ", interface: up") +
                 bridge("{port: p0}, {port: p1}, {port: t2}, {port: g}"));
    const auto way_of = [&](const char* to) {
        const json answer = result_of(l, {{"request", "explain"},
                                          {"port", "up"},
                                          {"from", "10.0.9.2"},
                                          {"to", to},
                                          {"destination_port", 4789},
                                          {"bytes", 128}});
        std::string stages;
        for (const json& step : answer["path"]) stages += step["stage"].get<std::string>() + " ";
        return stages + answer["path"].back()["reason"].get<std::string>();
    };
    EXPECT_TRUE(way_of("239.1.2.3").ends_with("ip_input vxlan_input drop vxlan_flags"))
        << way_of("239.1.2.3");
    EXPECT_TRUE(way_of("239.1.2.4").ends_with("ip_input drop ipv4_destination"))
        << way_of("239.1.2.4");
}

TEST(explain, makes_the_packet_that_is_asked_for) {
    running_lab l(router);
    const json one = result_of(
        l, {{"request", "explain"}, {"port", "p0"}, {"from", "10.0.0.7"}, {"to", "10.9.0.1"}});
    EXPECT_EQ(one["path"].back()["egress"], "p1");
    EXPECT_EQ(one["received"]["bytes"], 60);
    EXPECT_EQ(one["received"]["destination_mac"], "02:00:00:00:00:0b");
    const auto explain = [&](json request) {
        request["request"] = "explain";
        request["port"] = "p0";
        return ask(l, request);
    };
    for (const char* protocol : {"tcp", "udp", "icmp"})
        for (const auto& [from, to] :
             {std::pair("10.0.0.7", "10.0.0.1"), {"2001:db8::7", "2001:db8::1"}}) {
            const json answer = explain(
                {{"from", from}, {"to", to}, {"protocol", protocol}, {"bytes", 101}})["result"];
            EXPECT_EQ(answer["path"].back()["why"], "local") << answer.dump();
            EXPECT_EQ(answer["received"]["bytes"], 101);
        }
    EXPECT_EQ(explain({{"from", "10.0.0.7"}, {"to", "10.9.0.1"}, {"ttl", 1}})["result"]["path"]
                  .back()["reason"],
              "ipv4_ttl");
    for (const json& wrong :
         {json{{"from", "10.0.0.7"}}, json{{"from", "10.0.0.7"}, {"to", "2001:db8::1"}},
          json{{"frame", "abc"}}, json{{"frame", "xx"}}, json{{"frame", ""}},
          json{{"from", "10.0.0.7"}, {"to", "10.9.0.1"}, {"bytes", 20}},
          json{{"from", "10.0.0.7"}, {"to", "10.9.0.1"}, {"bytes", 60000}},
          json{{"from", "10.0.0.7"}, {"to", "10.9.0.1"}, {"protocol", "sctp"}},
          json{{"from", "10.0.0.7"}, {"to", "10.9.0.1"}, {"destination_mac", "x"}}})
        EXPECT_TRUE(explain(wrong).contains("error")) << wrong.dump();
    finish(l);
}

/// Nobody learns from it, and lists count nothing.
TEST(explain, leaves_bridges_and_lists_as_they_are) {
    running_lab l(
        "ports:\n  - {name: p0, device: net_x0}\n  - {name: p1, device: net_x1, acl: {l2_out: "
        "some}}\n  - {name: p2, device: net_x2}\n"
        "acl:\n  - {name: some, layer: 2, default: permit, rules: [{action: deny, ethertype: "
        "0x88b5}]}\n"
        "bridges:\n  - {name: lan, members: [{port: p0}, {port: p1}, {port: p2}]}\n");
    const auto explained = [&](const std::string& hex) {
        return result_of(l, {{"request", "explain"}, {"port", "p0"}, {"frame", hex}});
    };
    const json flooded = explained("ffffffffffff0200000000050806" + std::string(92, '0'));
    EXPECT_EQ(stages_of(flooded), "rx iface_input bridge flood +tx tx") << flooded.dump(1);
    EXPECT_EQ(flooded["path"][2]["bridge"], "lan");
    const json denied = explained("ffffffffffff02000000000588b5" + std::string(92, '0'));
    EXPECT_NE(denied.dump().find("acl_l2_deny_out"), std::string::npos) << denied.dump(1);
    l.settle();
    EXPECT_TRUE(result_of(l, {{"request", "show"}, {"what", "fdb"}})["fdb"].empty());
    for (const auto& list : l.acls()) EXPECT_EQ(list.denied, 0U);
    finish(l);
}

}  // namespace
}  // namespace turnpike
