// SPDX-License-Identifier: BSD-3-Clause
// The bottleneck of a forwarder, from turnpike's reports.
#include "observe/verdict.hpp"

#include "observe/open_metrics.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace turnpike::observe {
namespace {

constexpr uint64_t hz = 2'000'000'000;

/// A second of one worker and one port: 10 Mpps of 64 bytes (60 without FCS).
report second(double busy) {
    report r;
    r.duration_s = 1;
    worker_report w;
    w.lcore = 3;
    w.tsc_hz = hz;
    w.packets = 10'000'000;
    w.total_cycles = hz;
    w.busy_cycles = static_cast<uint64_t>(busy * hz);
    r.workers.push_back(w);
    port_report p;
    p.name = "east";
    p.life = 1;
    p.totals.rx_packets = p.totals.tx_packets = 10'000'000;
    p.totals.rx_bytes = p.totals.tx_bytes = 600'000'000;
    r.ports.push_back(p);
    return r;
}

/// A PCIe object: bytes a packet each way, on a link that carries so many Gb/s of TLPs.
std::string pcie_object(double up, double tlp_gbps) {
    return nlohmann::json{{"link", {{"tlp_gbps", tlp_gbps}}},
                          {"per_packet", {{"bytes", {{"up", up}, {"down", 10}}}}}}
        .dump();
}
std::string measured_object(const char* metric, double value) {
    return nlohmann::json{{"metrics", {{metric, value}}}, {"per_packet", {{"lines", {}}}}}.dump();
}

const headroom& of(const verdict& v, std::string_view resource) {
    for (const headroom& h : v.by)
        if (h.resource == resource) return h;
    ADD_FAILURE() << resource;
    return v.by[0];
}

/// Single packets of an idle worker cost more than packets of full bursts.
TEST(verdict, an_idle_worker_has_no_known_headroom) {
    const verdict v = verdict_of(second(0.009));
    EXPECT_EQ(v.bound, "idle");
    EXPECT_DOUBLE_EQ(*of(v, "core").used, 0.009);
    EXPECT_FALSE(of(v, "core").more_pps);
    EXPECT_NE(of(v, "core").why.find("idle"), std::string::npos);
    EXPECT_FALSE(second(0.009).workers.at(0).knows_headroom());
    EXPECT_TRUE(second(0.4).workers.at(0).knows_headroom());
}

TEST(verdict, nothing_that_is_full_is_idle) {
    const verdict v = verdict_of(second(0.4));
    EXPECT_EQ(v.bound, "idle");
    EXPECT_EQ(v.says, "no resource is full: the busiest, worker 3, is busy 40 % of the time");
    // 80 cycles a packet: 25 Mpps fit, 10 go through.
    EXPECT_DOUBLE_EQ(*of(v, "core").more_pps, 15e6);
    for (const char* unknown : {"l3", "dram", "pcie_bandwidth", "pcie_latency", "line_rate"}) {
        EXPECT_FALSE(of(v, unknown).used) << unknown;
        EXPECT_FALSE(of(v, unknown).why.empty()) << unknown;
    }
    EXPECT_EQ(verdict_of(report{}).bound, "idle");
}

TEST(verdict, a_busy_worker_is_the_core_or_what_its_core_waits_for) {
    report r = second(0.99);
    verdict v = verdict_of(r);
    EXPECT_EQ(v.bound, "core");
    EXPECT_EQ(v.from, "counted");
    EXPECT_EQ(v.says, "worker 3 is busy 99 % of the time");
    r.workers[0].core = {.values = {{"l3_bound", 0.2}, {"dram_bound", 0.5}},
                         .says = "50 % of cycles wait for DRAM",
                         .bound = "dram_bound"};
    v = verdict_of(r);
    EXPECT_EQ(v.bound, "dram");
    EXPECT_EQ(v.from, "measured");
    EXPECT_EQ(v.says, "worker 3 is busy 99 % of the time; 50 % of cycles wait for DRAM");
    EXPECT_DOUBLE_EQ(*of(v, "dram").more_pps, 10e6);  // half of the time: as many again
    EXPECT_DOUBLE_EQ(*of(v, "l3").more_pps, 2.5e6);
    r.workers[0].core.bound = "l3_bound";
    EXPECT_EQ(verdict_of(r).bound, "l3");
    r.workers[0].core.bound = "retiring";
    EXPECT_EQ(verdict_of(r).bound, "core");
    r.workers[0].forwards = false;
    EXPECT_EQ(verdict_of(r).bound, "idle");
}

TEST(verdict, a_full_wire_is_the_line_rate) {
    report r = second(0.95);
    r.ports[0].link_mbps = 7000;  // 10 Mpps of 84 bytes on the wire: 6.72 Gb/s
    const verdict v = verdict_of(r);
    EXPECT_EQ(v.bound, "line_rate");
    EXPECT_EQ(v.says, "the wire of port east is 96 % utilised");
    EXPECT_NEAR(*of(v, "line_rate").more_pps, 10e6 * (7000 / 6720.0 - 1), 1);
    // A device that exceeds its reported link speed has no limit by the wire.
    r.ports[0].link_mbps = 1000;
    EXPECT_EQ(verdict_of(r).bound, "core");
    EXPECT_EQ(of(verdict_of(r), "line_rate").why, "no port has a known link speed");
}

TEST(verdict, a_full_link_is_told_by_the_best_column_that_there_is) {
    report r = second(0.5);
    r.ports[0].pcie.modelled = pcie_object(100, 8.5);  // 8 Gb/s
    verdict v = verdict_of(r);
    EXPECT_EQ(v.bound, "pcie_bandwidth");
    EXPECT_EQ(v.from, "modelled");
    EXPECT_EQ(v.says, "the PCIe link of port east is 94 % utilised");
    r.ports[0].pcie.counted = pcie_object(50, 0);
    v = verdict_of(r);
    EXPECT_EQ(v.bound, "idle");
    EXPECT_EQ(of(v, "pcie_bandwidth").from, "counted");
    EXPECT_NEAR(*of(v, "pcie_bandwidth").used, 4 / 8.5, 1e-9);
    r.ports[0].pcie.measured = measured_object("link_utilisation", 0.92);
    v = verdict_of(r);
    EXPECT_EQ(v.bound, "pcie_bandwidth");
    EXPECT_EQ(v.from, "measured");
}

TEST(verdict, drops_while_nothing_is_full_and_reads_are_slow_are_latency) {
    report r = second(0.5);
    r.ports[0].rx_missed = 1000;
    r.ports[0].pcie.measured = measured_object("read_latency_ns", 400);
    EXPECT_EQ(verdict_of(r).bound, "idle");
    r.ports[0].pcie.measured = measured_object("read_latency_ns", 1400);
    const verdict v = verdict_of(r);
    EXPECT_EQ(v.bound, "pcie_latency");
    EXPECT_NE(v.says.find("port east drops and no other resource is full: a read takes 1400 ns"),
              std::string::npos)
        << v.says;
    r.ports[0].rx_missed = 0;
    EXPECT_EQ(verdict_of(r).bound, "idle");
}

TEST(verdict, is_of_now_where_there_is_an_earlier_report) {
    const report before = second(0.99);
    report now = before;
    now.duration_s = 2;
    now.workers[0].total_cycles += hz;
    now.workers[0].busy_cycles += hz / 10;
    now.workers[0].packets += 1'000'000;
    EXPECT_EQ(verdict_of(now, &before).bound, "idle");
    EXPECT_NEAR(*of(verdict_of(now, &before), "core").used, 0.1, 1e-9);
    EXPECT_NEAR(*of(verdict_of(now), "core").used, (0.99 + 0.1) / 2, 1e-9);
}

TEST(crossings, are_named_with_what_to_do) {
    report r = second(0.5);
    EXPECT_TRUE(r.crossings().empty());  // nothing is known of nodes
    r.workers[0].node = 1;
    r.workers[0].polls = {"east"};
    r.ports[0].node = 1;
    r.mempool.node = 1;
    EXPECT_TRUE(r.crossings().empty());
    r.ports[0].node = 0;
    ASSERT_EQ(r.crossings().size(), 1u);
    EXPECT_EQ(
        r.crossings()[0],
        "worker 3 on node 1 polls port east on node 0: assign lcores of that node to the port "
        "(workers, rx_workers), or move the device to another slot");
    r.mempool.node = 0;
    ASSERT_EQ(r.crossings().size(), 2u);
    EXPECT_NE(r.crossings()[1].find("uses mbufs and tables on node 0"), std::string::npos);
    EXPECT_NE(to_table(r).find("crosses nodes  worker 3 on node 1 polls port east"),
              std::string::npos);
    const auto json = to_json(r);
    EXPECT_EQ(json["crossings"].size(), 2u);
    EXPECT_EQ(json["workers"][0]["node"], 1);
    EXPECT_EQ(json["ports"][0]["node"], 0);
    r.workers[0].polls.clear();
    r.mempool.node = -1;
    EXPECT_TRUE(r.crossings().empty());
    r.workers[0].forwards = false;
    EXPECT_TRUE(r.crossings().empty());
}

TEST(verdict, stands_in_every_rendering) {
    report r = second(0.99);
    r.workers[0].core.values = {{"ipc", 1.5}, {"cycles", 3e9}, {"l3_bound", 0.25}};
    r.workers[0].core.where = {{.name = "l3_bound",
                                .parent = "memory_bound",
                                .unit = "cycles",
                                .says = "of cycles wait for L3",
                                .level = 3,
                                .share = 0.25}};
    r.workers[0].core.says = "25 % of cycles wait for L3";
    r.workers[0].core.bound = "l3_bound";
    r.workers[0].core.counted_share = 0.5;
    const auto json = to_json(r);
    EXPECT_EQ(json["verdict"]["bound"], "l3");
    EXPECT_EQ(json["verdict"]["headroom"]["line_rate"]["why"], "no port has a known link speed");
    EXPECT_EQ(json["workers"][0]["ipc"], 1.5);
    EXPECT_TRUE(json["workers"][0]["ipp"].is_null());
    EXPECT_EQ(json["workers"][0]["core"]["slots"][0]["name"], "l3_bound");
    const std::string table = to_table(r);
    EXPECT_NE(
        table.find("verdict  l3 (measured): worker 3 is busy 99 % of the time; 25 % of cycles"),
        std::string::npos)
        << table;
    EXPECT_NE(table.find("core of 3  - instructions/pkt  1.50 per cycle"), std::string::npos)
        << table;
    EXPECT_NE(table.find("(scaled: counted 50% of the time)"), std::string::npos);
    const std::string metrics = to_exposition({r, {}}, exposition_format::open_metrics_1_0);
    EXPECT_NE(metrics.find("turnpike_resource_limits{resource=\"l3\"} 1\n"), std::string::npos)
        << metrics;
    EXPECT_NE(metrics.find("turnpike_resource_limits{resource=\"core\"} 0\n"), std::string::npos);
    EXPECT_NE(metrics.find("turnpike_worker_core_cycles_total{lcore=\"3\"} 3000000000\n"),
              std::string::npos);
    EXPECT_EQ(metrics.find("turnpike_worker_instructions_total{"), std::string::npos);
    EXPECT_EQ(metrics.find("_total{lcore=\"3\"} NaN"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::observe
