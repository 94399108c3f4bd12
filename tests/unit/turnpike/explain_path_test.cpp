// SPDX-License-Identifier: BSD-3-Clause
// Explanations of routes, ECMP, bridges and neighbours; arrival by interfaces; and traces of packets that control drops.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trace_lab.hpp"
#include "tunnel_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using nlohmann::json;

json explained_at(path_lab& l, const std::string& port, json request) {
    request["request"] = "explain";
    request["port"] = port;
    return result_of(l, request);
}
json between(const char* from, const char* to) { return {{"from", from}, {"to", to}}; }

const char* const shared =
    "ports:\n"
    "  - {name: p0, device: net_x0, addresses: [10.0.0.1/24]}\n"
    "  - {name: p1, device: net_x1, addresses: [10.1.0.1/24]}\n"
    "  - {name: p2, device: net_x2, addresses: [10.2.0.1/24]}\n"
    "ecmp: {seed: 7}\n"
    "routes:\n"
    "  - {to: 10.9.0.0/16, via: [{via: 10.1.0.2, weight: 3}, 10.2.0.2]}\n"
    "  - {to: 10.8.0.0/16, via: 10.1.0.2}\n"
    "neighbours: {static: [{address: 10.1.0.2, port: p1, mac: \"02:00:00:00:09:02\"},\n"
    "                      {address: 10.2.0.2, port: p2, mac: \"02:00:00:00:09:03\"},\n"
    "                      {address: 10.0.0.7, port: p0, mac: \"02:00:00:00:00:07\"}]}\n";

TEST(explain_path, names_the_route_and_its_origin) {
    running_lab l(shared);
    control::requests r(l.controller(), "none.yaml");
    const auto route_to = [&](const char* to) {
        json request = between("10.0.0.7", to);
        request["request"] = "explain", request["port"] = "p0";
        return step_of(answer_of(l, r, request)["result"], "lookup")["route"];
    };
    const json start = route_to("10.8.0.1");
    EXPECT_EQ(start["to"], "10.8.0.0/16");
    EXPECT_EQ(start["vrf"], "main");
    EXPECT_EQ(start["origin"], "configured");
    EXPECT_EQ(start["configured_by"]["by"], "the start");
    const json change = answer_of(
        l, r,
        {{"request", "change"},
         {"do",
          json::array({{{"add", {{"route", {{"to", "10.7.0.0/16"}, {"via", "10.1.0.2"}}}}}}})}});
    ASSERT_TRUE(change.contains("result")) << change.dump();
    const json typed = route_to("10.7.0.1");
    EXPECT_EQ(typed["to"], "10.7.0.0/16");
    EXPECT_NE(typed["configured_by"]["by"], "the start") << typed.dump();
    EXPECT_NE(typed["configured_by"]["what"].get<std::string>(), "") << typed.dump();
    EXPECT_EQ(route_to("10.8.0.1")["configured_by"]["by"], "the start");
    EXPECT_EQ(route_to("10.1.0.9")["origin"], "connected");
    EXPECT_FALSE(route_to("10.1.0.9").contains("configured_by"));
    const json none = route_to("172.16.0.1");
    EXPECT_TRUE(none["to"].is_null());
    EXPECT_EQ(none["address"], "172.16.0.1");
    finish(l);
}

TEST(explain_path, names_the_member_that_the_packet_takes) {
    running_lab l(shared);
    int by_p1 = 0, by_p2 = 0;
    for (uint16_t source_port = 1; source_port < 64; ++source_port) {
        json request = between("10.0.0.7", "10.9.0.1");
        request["source_port"] = source_port;
        const json answer = explained_at(l, "p0", request);
        const json member = step_of(answer, "ip_forward")["member"];
        ASSERT_TRUE(member.is_object()) << answer.dump(1);
        const std::string frame = answer["received"]["lead"];
        byte_vector bytes;
        for (size_t i = 0; i < frame.size(); i += 2)
            bytes.push_back(static_cast<uint8_t>(std::stoul(frame.substr(i, 2), nullptr, 16)));
        ASSERT_TRUE(l.offer(0, bytes));
        l.settle();
        const bool p1 = !l.sent(1).empty(), p2 = !l.sent(2).empty();
        ASSERT_NE(p1, p2);
        EXPECT_EQ(member["interface"], p1 ? "p1" : "p2");
        EXPECT_EQ(member["via"], p1 ? "10.1.0.2" : "10.2.0.2");
        (p1 ? by_p1 : by_p2) += 1;
        EXPECT_LT(member["bucket"], member["buckets_of_group"]);
        EXPECT_TRUE(member["reason"].get<std::string>().find(
                        p1 ? "weight 3 of 4" : "weight 1 of 4") != std::string::npos)
            << member["reason"];
    }
    EXPECT_GT(by_p1, by_p2);
    EXPECT_GT(by_p2, 0);
    finish(l);
}

/// Drop reason vxlan_unknown_vni does not tell which VNI came.
TEST(explain_path, names_the_vni_and_the_inner_frame) {
    tunnel_lab l(two_tunnels);
    const byte_vector inner = frame(fdb_entry(2), fdb_entry(1));
    std::string hex;
    for (const uint8_t b : in_ipv4(vxlan(inner, {.network = 101 << 8})))
        hex += fmt::format("{:02x}", b);
    const json answer = explained_at(l, "up", {{"frame", hex}});
    EXPECT_EQ(answer["path"].back()["reason"], "vxlan_unknown_vni");
    EXPECT_EQ(answer["received"]["vni"], 101);
    EXPECT_EQ(answer["received"]["inner"]["destination_mac"], "02:00:00:01:00:02");
    EXPECT_EQ(answer["received"]["inner"]["ethertype"], "0x88b5");
    EXPECT_FALSE(answer["received"]["inner"].contains("source"));
}

TEST(explain_path, takes_interfaces) {
    running_lab l(
        "ports:\n  - {name: p0, device: net_x0}\n"
        "  - {name: p1, device: net_x1, addresses: [10.1.0.1/24]}\n"
        "  - {name: p2, device: net_x2}\n"
        "interfaces: [{port: p0, vlan: 10, addresses: [10.0.0.1/24]}]\n"
        "bridges: [{name: lan, members: [{port: p2}], addresses: [10.3.0.1/24]}]\n");
    const json answer = explained_at(l, "p0.10", between("10.0.0.7", "10.1.0.9"));
    EXPECT_EQ(step_of(answer, "iface_input")["interface"], "p0.10");
    EXPECT_EQ(answer["port"], "p0");
    EXPECT_EQ(answer["received"]["tags"],
              json::array({{{"vlan", 10}, {"priority", 0}, {"type", "0x8100"}}}));
    EXPECT_EQ(answer["received"]["inner_ethertype"], "0x0800");
    EXPECT_EQ(answer["received"]["source"], "10.0.0.7");
    EXPECT_EQ(answer["path"].back()["why"], "resolve");
    EXPECT_EQ(answer["path"].back()["neighbour"]["address"], "10.1.0.9");
    EXPECT_EQ(answer["path"].back()["neighbour"]["state"], "unknown");
    const json untagged = explained_at(l, "p0", between("10.0.0.7", "10.1.0.9"));
    EXPECT_EQ(untagged["path"].back()["reason"], "no_interface");
    EXPECT_FALSE(untagged["path"].back()["remedy"].get<std::string>().empty());
    EXPECT_FALSE(untagged["received"].contains("tags"));
    json other = between("10.0.0.7", "10.1.0.9");
    other["request"] = "explain", other["port"] = "p0.10", other["vlan"] = 11;
    EXPECT_TRUE(ask(l, other).contains("error"));
    for (const char* wrong : {"lan", "p9"}) {
        other = between("10.0.0.7", "10.1.0.9");
        other["request"] = "explain", other["port"] = wrong;
        const json refused = ask(l, other);
        ASSERT_TRUE(refused.contains("error")) << refused.dump();
        EXPECT_EQ(refused["error"]["where"], "port");
    }
    finish(l);
}

TEST(explain_path, finds_a_station_in_another_vlan) {
    bridge_lab l(ports(3) +
                 bridge("{port: p0, mode: access, vlan: 10}, {port: p1, mode: access, vlan: 20}, "
                        "{port: p2, mode: trunk}"));
    l.send(1, frame(everybody, fdb_entry(7)));
    l.send(0, frame(everybody, fdb_entry(5)));
    const auto station = [&](uint8_t to) {
        const json answer = result_of(l, {{"request", "explain"},
                                          {"port", "p0"},
                                          {"frame", hex_of(frame(fdb_entry(to), fdb_entry(9)))}});
        return step_of(answer, "bridge")["fdb_entry"];
    };
    const json elsewhere = station(7);
    EXPECT_TRUE(elsewhere["port"].is_null());
    EXPECT_EQ(elsewhere["elsewhere"], json::array({{{"vlan", 20}, {"port", "p1"}}}));
    EXPECT_EQ(station(5)["port"], "p0");
    EXPECT_FALSE(station(8).contains("elsewhere"));
}

TEST(explain_path, draws_on_no_storm_limit) {
    bridge_lab l(ports(2) + bridge("{port: p0, storm: {broadcast: 1}}, {port: p1}"));
    const byte_vector f = frame(everybody, fdb_entry(1));
    for (int n = 0; n < 64; ++n) {
        const json answer =
            result_of(l, {{"request", "explain"}, {"port", "p0"}, {"frame", hex_of(f)}});
        EXPECT_NE(answer["path"].back()["stage"], "drop") << answer;
    }
    EXPECT_EQ(l.egress_ports(0, f), "1");
}

/// A host that does not answer: explain and trace name the failure, also where control drops the packets.
TEST(explain_path, names_a_failed_neighbour) {
    running_lab l(shared);
    result_of(l, {{"request", "trace"}, {"packets", 5}, {"dropped", true}});
    const byte_vector lost = ethernet(
        0x0800, ipv4({.ttl = 9, .source = 0x0a000007, .destination = 0x0a010009}, udp(counted(20))),
        {2, 0, 0, 0, 0, 0x0b}, {2, 0, 0, 0, 0, 7});
    ASSERT_TRUE(l.offer(0, lost));
    l.settle();
    EXPECT_EQ(
        explained_at(l, "p0", between("10.0.0.7", "10.1.0.9"))["path"].back()["neighbour"]["state"],
        "incomplete");
    json traces = json::array();
    for (int i = 0; i < 20 && traces.empty(); ++i) {
        l.control(500);
        l.settle();
        traces = result_of(l, {{"request", "show"}, {"what", "trace"}})["traces"];
    }
    ASSERT_EQ(traces.size(), 1U) << traces.dump(1);
    EXPECT_EQ(traces[0]["control"], true);
    EXPECT_EQ(traces[0]["port"], "p0");
    EXPECT_EQ(traces[0]["received"]["destination"], "10.1.0.9");
    EXPECT_EQ(traces[0]["path"].back()["reason"], "neighbour_failed");
    const json answer = explained_at(l, "p0", between("10.0.0.7", "10.1.0.9"));
    EXPECT_EQ(step_of(answer, "lookup")["next_hop"]["type"], "failed") << answer.dump(1);
    EXPECT_EQ(step_of(answer, "lookup")["next_hop"]["via"], "10.1.0.9");
    EXPECT_EQ(answer["path"].back()["reason"], "neighbour_failed");
    result_of(l, {{"request", "trace"}, {"packets", 0}});
    finish(l);
}

TEST(trace_drops, stop_with_the_trace) {
    running_lab l(shared);
    result_of(l, {{"request", "trace"}, {"packets", 1}, {"address", "10.1.0.200"}});
    const auto lose = [&](uint32_t to) {
        ASSERT_TRUE(l.offer(
            0, ethernet(0x0800,
                        ipv4({.ttl = 9, .source = 0x0a000007, .destination = to}, udp(counted(20))),
                        {2, 0, 0, 0, 0, 0x0b}, {2, 0, 0, 0, 0, 7})));
        l.settle();
        for (int i = 0; i < 5; ++i) {
            l.control(2'000);
            l.settle();
        }
    };
    const auto written = [&] {
        return result_of(l, {{"request", "show"}, {"what", "trace"}})["traces"];
    };
    lose(0x0a010063);  // another address
    EXPECT_TRUE(written().empty());
    result_of(l, {{"request", "trace"}, {"packets", 0}});
    lose(0x0a0100c8);
    EXPECT_TRUE(written().empty());
    finish(l);
}

TEST(drop_texts, have_a_remedy_each) {
    for (size_t i = 1; i < datapath::drop_reasons; ++i) {
        const datapath::drop_text& text = datapath::drop_texts[i];
        EXPECT_GT(text.remedy.size(), 15U) << text.name;
        EXPECT_TRUE(text.remedy.ends_with('.')) << text.name;
        EXPECT_FALSE(text.remedy.starts_with(' ')) << text.name;
        EXPECT_EQ(std::count(text.remedy.begin(), text.remedy.end(), '`') % 2, 0) << text.name;
    }
}

}  // namespace
}  // namespace turnpike
