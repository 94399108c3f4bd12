// SPDX-License-Identifier: BSD-3-Clause
// `clear counters` of interfaces, bridges, tunnels, mirrors and latency: `show` begins at 0, the metrics continue, and an
// object that is made again begins at 0 in both.
#include <iterator>
#include <nlohmann/json.hpp>
#include <tuple>

#include "control/management/inventory.hpp"
#include "control/management/metrics_source.hpp"
#include "control/management/show.hpp"
#include "observe/baseline.hpp"
#include "turnpike/bridge_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using nlohmann::json;

const std::string plain =
    "interface_counters: true\nlatency: {sample: 1}\n"
    "ports:\n  - {name: p0, device: d0, descriptors: 256, addresses: [10.0.1.254/24]}\n"
    "  - {name: p1, device: d1, descriptors: 256, mtu: 1600, addresses: [10.0.2.254/24]}\n"
    "  - {name: p2, device: d2, descriptors: 256}\n"
    "  - {name: p3, device: d3, descriptors: 256}\n"
    "neighbours:\n  static:\n"
    "    - {address: 10.0.1.2, mac: \"02:00:00:00:00:01\"}\n"
    "    - {address: 10.0.2.2, mac: \"02:00:00:00:00:02\"}\n";
const std::string without = plain + bridge("{port: p2}, {port: p3}");
const std::string with_all =
    plain +
    "interfaces:\n  - {port: p0, vlan: 7, addresses: [10.0.7.254/24]}\n"
    "tunnels:\n  - {name: far, vni: 7, local: 10.0.2.254, remote: 10.0.2.2, mtu: 1500}\n"
    "bridges:\n  - {name: lan, members: [{port: p2, mode: access, vlan: 20}, {port: far, mode: "
    "access, vlan: 20}]}\n"
    "  - {name: other, members: [{port: p3}]}\n"
    "mirrors:\n  - {name: m, ports: [p2], direction: in, to: p3}\n";

byte_vector tagged_packet() {
    const byte_vector mac{2, 0, 0, 0, 0, 0x0b}, peer{2, 0, 0, 0, 0, 7};
    byte_vector f = ethernet(type4, ipv4({.destination = 0x0a000202}, udp(counted(4))), mac, peer);
    const byte_vector tag{0x81, 0, 0, 7};
    f.insert(f.begin() + 12, tag.begin(), tag.end());
    return f;
}

class clear_objects : public testing::Test {
  protected:
    clear_objects() {
        lab_.links(true);
        lab_.settle();
    }
    /// A packet from the VLAN interface, and a frame that the bridge sends through the tunnel.
    void pass() {
        lab_.send(0, tagged_packet());
        lab_.send(2, frame(everybody, fdb_entry(1)));
    }
    control::controller& c() { return lab_.controller(); }
    json shown(const char* what) {
        const json request = {{"request", "show"}, {"what", what}};
        return control::show(c(), control::request_fields(request));
    }
    /// Counters of `show` by object, where pass() changes them.
    json shown_counters() {
        const auto named = [](const json& list, const std::string& name) {
            for (const json& one : list)
                if (one["name"] == name) return one;
            return json::object();
        };
        json out;
        const auto add = [&](const std::string& as, const json& from,
                             std::initializer_list<const char*> names) {
            for (const char* name : names) out[as][name] = from.value(name, json(0));
        };
        const json interfaces = shown("interfaces")["interfaces"];
        for (const char* name : {"p0.7", "p1", "far"})
            add(name, named(interfaces, name),
                {"rx_packets", "rx_bytes", "tx_packets", "tx_bytes"});
        const json lan = named(shown("bridges")["bridges"], "lan");
        const json vlans = lan.value("vlans", json::array());
        add("VLAN 20", vlans.empty() ? json::object() : vlans.front(),
            {"rx_packets", "rx_bytes", "flooded"});
        add("tunnel", named(shown("tunnels")["tunnels"], "far"), {"tx_packets", "tx_bytes"});
        add("mirror", named(shown("mirrors")["mirrors"], "m"), {"packets", "bytes"});
        return out;
    }
    /// The counter of the metrics for each of these objects.
    std::map<std::string, uint64_t> metrics() {
        std::map<std::string, uint64_t> out;
        const observe::inventory all = control::scrape(c(), false).objects;
        for (const auto& i : all.interfaces)
            if (i.counted) out[i.name] = i.counted->rx_packets + i.counted->tx_packets;
        for (const auto& b : all.bridges) out[b.name] = b.rx_packets;
        for (const auto& t : all.tunnels) out["tunnel " + t.name] = t.inner.tx_packets;
        for (const auto& m : all.mirrors) out["mirror " + m.name] = m.packets;
        return out;
    }
    static bool is_zero(const json& counters) {
        for (const auto& [name, value] : counters.items())
            if (value.is_object() ? !is_zero(value) : value != 0) return false;
        return true;
    }

    bridge_lab lab_{with_all};
};

/// Objects of the kinds that no lab here has, with n of everything that is counted.
observe::inventory objects_with(uint64_t n) {
    observe::inventory all;
    all.bridges = {{.name = "b",
                    .life = 1,
                    .entries = n,
                    .max_entries = n,
                    .learned = n,
                    .moved = n,
                    .aged = n,
                    .dampened = n,
                    .refused = n,
                    .rx_packets = n,
                    .rx_bytes = n,
                    .tx_packets = n,
                    .flooded = n}};
    all.reserved = {{.interface = "w", .life = 2, .frames = n}};
    all.fdb_messages_lost = n;
    all.mirrors = {{.name = "m", .life = 3, .packets = n, .bytes = n, .lost = n, .unreachable = n}};
    all.sflow = {{.life = 4,
                  .datagrams = n,
                  .unsent = n,
                  .samples = n,
                  .drops = n,
                  .lost_samples = n,
                  .lost_drops = n}};
    all.host_interfaces = {{.name = "w", .life = 5, .to_kernel = n, .from_kernel = n, .lost = n}};
    all.netlink = {{.messages = n, .refused = n, .overruns = n, .whole = n, .life = 6}};
    return all;
}

TEST(clear_objects_of_all_kinds, count_since_then) {
    const observe::baseline then(observe::report{}, objects_with(7));
    observe::inventory now = objects_with(10);
    then.subtract_from(now);
    const auto& b = now.bridges[0];
    EXPECT_EQ(b.entries, 10U) << "a number of now";
    EXPECT_EQ(b.max_entries, 10U);
    const auto& [mirror, sflow, tap, netlink] =
        std::tie(now.mirrors[0], now.sflow[0], now.host_interfaces[0], now.netlink[0]);
    const uint64_t since[] = {b.learned,
                              b.moved,
                              b.aged,
                              b.dampened,
                              b.refused,
                              b.rx_packets,
                              b.rx_bytes,
                              b.tx_packets,
                              b.flooded,
                              now.reserved[0].frames,
                              now.fdb_messages_lost,
                              mirror.packets,
                              mirror.bytes,
                              mirror.lost,
                              mirror.unreachable,
                              sflow.datagrams,
                              sflow.unsent,
                              sflow.samples,
                              sflow.drops,
                              sflow.lost_samples,
                              sflow.lost_drops,
                              tap.to_kernel,
                              tap.from_kernel,
                              tap.lost,
                              netlink.messages,
                              netlink.refused,
                              netlink.overruns,
                              netlink.whole};
    for (size_t i = 0; i < std::size(since); ++i) EXPECT_EQ(since[i], 3U) << "number " << i;
}

TEST_F(clear_objects, what_is_shown_begins_at_zero_and_metrics_continue) {
    pass();  // and the first announcements
    c().clear_counters();
    const auto before = metrics();
    pass();
    json once = shown_counters();
    EXPECT_EQ(once["p0.7"]["rx_packets"], 1);
    EXPECT_EQ(once["p1"]["tx_packets"], 2);
    EXPECT_EQ(once["far"]["tx_packets"], 1);
    EXPECT_EQ(once["VLAN 20"]["rx_packets"], 1);
    EXPECT_EQ(once["tunnel"]["tx_packets"], 1);
    EXPECT_EQ(once["mirror"]["packets"], 1);
    const auto then = metrics();
    c().clear_counters();
    EXPECT_TRUE(is_zero(shown_counters())) << shown_counters();
    EXPECT_EQ(shown("interfaces")["cleared"], true);
    EXPECT_LT(shown("tunnels")["since_s"].get<double>(), c().duration_s());
    EXPECT_EQ(metrics(), then) << "Prometheus' counters never decrease";
    pass();
    EXPECT_EQ(shown_counters(), once) << "the same packets";
    for (const auto& [name, value] : metrics())
        EXPECT_EQ(value, 2 * then.at(name) - before.at(name)) << name;
    const json lan = shown("bridges")["bridges"][0];
    EXPECT_EQ(lan["learnt"], 0) << "the station was known";
    EXPECT_EQ(lan["stations"], 1) << "a number of entries is no counter";
}

TEST_F(clear_objects, latency_is_of_the_samples_since) {
    const auto samples = [&](const std::vector<observe::latency_report>& of) {
        uint64_t sum = 0;
        for (const auto& pair : of) sum += pair.samples;
        return sum;
    };
    for (int i = 0; i < 20; ++i) pass();
    const uint64_t then = samples(c().latencies().counted());
    EXPECT_GT(then, 0U);
    c().clear_counters();
    EXPECT_TRUE(shown("latency")["latency"].empty());
    for (int i = 0; i < 20; ++i) pass();
    uint64_t since = 0;
    json now = shown("latency");
    for (const json& pair : now["latency"]) {
        since += pair["samples"].get<uint64_t>();
        EXPECT_GE(pair["max_ns"], pair["p50_ns"]);
        EXPECT_GE(pair["max_ns"].get<double>(), pair["mean_ns"].get<double>());
    }
    EXPECT_GT(since, 0U);
    EXPECT_EQ(since, samples(c().latencies().counted()) - then);
}

TEST_F(clear_objects, a_port_has_its_interfaces) {
    pass();
    json once = shown_counters();
    ASSERT_TRUE(c().clear_port_counters("p0"));
    json now = shown_counters();
    EXPECT_TRUE(is_zero(now["p0.7"]));
    EXPECT_EQ(now["p1"], once["p1"]);
    EXPECT_EQ(now["tunnel"], once["tunnel"]);
    ASSERT_TRUE(c().clear_port_counters("p1"));
    EXPECT_TRUE(is_zero(shown_counters()["p1"])) << "alone on its port";
    pass();
    ASSERT_TRUE(c().clear_port_counters("p1"));
    now = shown_counters();
    EXPECT_TRUE(is_zero(now["p1"])) << "again";
    EXPECT_EQ(now["p0.7"]["rx_packets"], 1);
    EXPECT_FALSE(c().cleared()) << "the others count since the start";
}

TEST_F(clear_objects, objects_go_and_come_again) {
    for (int i = 0; i < 3; ++i) pass();
    c().clear_counters();
    ASSERT_TRUE(lab_.apply(without));
    ASSERT_TRUE(lab_.apply(with_all));
    lab_.settle();
    for (uint16_t p = 0; p < 4; ++p) lab_.sent(p);
    for (const char* const name : {"lan", "tunnel far", "mirror m"})
        EXPECT_EQ(metrics().at(name), 0U) << name << " is another, in the metrics, too";
    pass();
    json now = shown_counters();
    EXPECT_EQ(now["p0.7"]["rx_packets"], 1);
    EXPECT_EQ(now["tunnel"]["tx_packets"], 1);
    EXPECT_EQ(now["VLAN 20"]["rx_packets"], 1);
    EXPECT_EQ(now["mirror"]["packets"], 1);
}

/// Counters are by index, and an index may have been another's.
TEST_F(clear_objects, an_object_has_nothing_of_an_earlier_one) {
    for (int i = 0; i < 3; ++i) pass();
    const auto then = metrics();
    std::string renamed = with_all;
    for (const auto& [was, is] : {std::pair<std::string, std::string>{"name: far", "name: new"},
                                  {"port: far", "port: new"},
                                  {"name: lan", "name: net"}})
        renamed.replace(renamed.find(was), was.size(), is);
    ASSERT_TRUE(lab_.apply(renamed));
    lab_.settle();
    for (uint16_t p = 0; p < 4; ++p) lab_.sent(p);
    const auto now = metrics();
    EXPECT_EQ(now.at("tunnel new"), 0U);
    EXPECT_EQ(now.at("new"), 0U) << "the tunnel's interface";
    EXPECT_EQ(now.at("net"), 0U);
    EXPECT_EQ(now.at("p0.7"), then.at("p0.7")) << "is as it was";
}

}  // namespace
}  // namespace turnpike
