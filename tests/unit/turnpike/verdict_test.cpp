// SPDX-License-Identifier: BSD-3-Clause
// The bottleneck of a forwarder, from turnpike's reports.
#include "observe/verdict.hpp"

#include "observe/open_metrics.hpp"
#include "pcie/profile.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

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

/// A link of gen 3 with 8 lanes: 57.9 Gb/s of TLPs in each direction.
const pcie::link link_of_8 = *pcie::parse_link("gen3x8");
double capacity() { return pcie::tlp_gbps(link_of_8) * 1e9 / 8; }

pcie::nic_profile profile() { return *pcie::profile_for_driver("net_ixgbe"); }

/// A second of traffic in one direction only.
report one_way(uint64_t received, uint64_t sent, uint32_t bytes) {
    report r = second(0.5);
    port_totals& n = r.ports[0].totals;
    n.rx_packets = received;
    n.tx_packets = sent;
    n.rx_bytes = received * bytes;
    n.tx_bytes = sent * bytes;
    n.rx_load.bursts = received / 32;
    n.tx_load.bursts = sent / 32;
    r.ports[0].pcie.facts.link = link_of_8;
    return r;
}
/// The driver's counters after so many seconds of these shares of the link.
void count(report& r, double up, double down, double seconds = 1) {
    r.ports[0].pcie.counts = {
        {"pcie_bytes_up", static_cast<uint64_t>(up * seconds * capacity())},
        {"pcie_bytes_down", static_cast<uint64_t>(down * seconds * capacity())}};
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
    EXPECT_EQ(of(verdict_of(r), "line_rate").why,
              "port east exceeds the nominal speed of its link");
}

TEST(verdict, short_frames_are_padded_on_the_wire) {
    report r = second(0.95);
    r.ports[0].link_mbps = 7000;
    r.ports[0].totals.rx_bytes = r.ports[0].totals.tx_bytes = 10'000'000 * 42;
    EXPECT_NEAR(*of(verdict_of(r), "line_rate").used, 0.96, 1e-9);
}

TEST(verdict, a_link_above_its_estimated_capacity_is_full) {
    report r = one_way(100'000'000, 0, 60);
    r.ports[0].pcie.facts.profile = profile();
    const verdict v = verdict_of(r);
    EXPECT_EQ(v.bound, "pcie_bandwidth");
    EXPECT_EQ(v.from, "modelled");
    EXPECT_EQ(v.says, "the PCIe link of port east is 100 % utilised");
    EXPECT_DOUBLE_EQ(*of(v, "pcie_bandwidth").more_pps, 0);
    EXPECT_EQ(of(v, "pcie_bandwidth").why, "");
    count(r, 1.2, 0.1);  // by a virtual device
    EXPECT_EQ(verdict_of(r).bound, "idle");
    EXPECT_EQ(of(verdict_of(r), "pcie_bandwidth").why,
              "port east exceeds the nominal speed of its link");
}

TEST(verdict, a_full_link_is_told_by_the_best_source_that_there_is) {
    report r = one_way(10'000'000, 10'000'000, 60);
    r.ports[0].pcie.facts.profile = profile();
    const double modelled = *of(verdict_of(r), "pcie_bandwidth").used;
    EXPECT_EQ(of(verdict_of(r), "pcie_bandwidth").from, "modelled");
    const auto bill = bill_of(r.ports[0].totals, profile(), link_of_8);
    ASSERT_TRUE(bill);
    const auto each = bill->combined(1, 1).total().bytes;
    EXPECT_NEAR(modelled, 10e6 * std::max(each.up, each.down) / capacity(), 1e-6);
    count(r, 0.94, 0.2);
    verdict v = verdict_of(r);
    EXPECT_EQ(v.bound, "pcie_bandwidth");
    EXPECT_EQ(v.from, "counted");
    EXPECT_EQ(v.says, "the PCIe link of port east is 94 % utilised");
    count(r, 0.2, 0.5);
    v = verdict_of(r);
    EXPECT_EQ(v.bound, "idle");
    EXPECT_NEAR(*of(v, "pcie_bandwidth").used, 0.5, 1e-6);
    EXPECT_NEAR(*of(v, "pcie_bandwidth").more_pps, 10e6, 10);
    r.ports[0].pcie.facts.payload = pcie_payload{.seconds = 1, .written_bytes = 0.5 * capacity()};
    EXPECT_EQ(of(verdict_of(r), "pcie_bandwidth").from, "measured");
    r.ports[0].pcie.facts.link.reset();
    EXPECT_EQ(of(verdict_of(r), "pcie_bandwidth").why,
              "no port has a known PCIe link (pcie: {link: ...})");
}

/// The root's counters have payload: one direction full of it, headers included, is a full link.
TEST(verdict, a_measured_link_is_full_when_one_direction_is_headers_included) {
    report r = one_way(10'000'000, 0, 60);
    // Writes of MPS, 256 bytes, have 24 bytes of headers.
    const auto written = [&](double share) {
        r.ports[0].pcie.facts.payload =
            pcie_payload{.seconds = 1, .written_bytes = share * capacity() * 256 / 280};
        return verdict_of(r);
    };
    EXPECT_NEAR(*of(written(0.95), "pcie_bandwidth").used, 0.95, 1e-9);
    EXPECT_EQ(written(0.95).bound, "pcie_bandwidth");
    EXPECT_EQ(written(0.85).bound, "idle");
    // The other direction has its own capacity.
    r.ports[0].pcie.facts.payload->read_bytes = 0.5 * capacity();
    EXPECT_LT(*of(verdict_of(r), "pcie_bandwidth").used, 1);
    // Writes of 64 bytes: the model knows the sizes of TLPs.
    r.ports[0].pcie.facts.profile = profile();
    const auto bill = bill_of(r.ports[0].totals, profile(), link_of_8);
    const auto each = bill->combined(1, 0);
    r.ports[0].pcie.facts.payload = pcie_payload{.seconds = 1,
                                                 .read_bytes = 10e6 * each.total().dma.read,
                                                 .written_bytes = 10e6 * each.total().dma.written,
                                                 .register_writes = 10e6 * each.total().lines.wil};
    EXPECT_NEAR(*of(verdict_of(r), "pcie_bandwidth").used,
                10e6 * std::max(each.total().bytes.up, each.total().bytes.down) / capacity(), 0.01);
}

/// An idle hour, then a second at 95 %.
TEST(verdict, a_link_is_full_now_where_there_is_an_earlier_report) {
    report before = one_way(100, 100, 60);
    before.duration_s = 3600;
    before.ports[0].pcie.facts.payload = pcie_payload{.seconds = 3600, .written_bytes = 6000};
    report now = one_way(10'000'100, 10'000'100, 60);
    now.duration_s = 3601;
    now.ports[0].pcie.facts.payload =
        pcie_payload{.seconds = 3601, .written_bytes = 6000 + 0.95 * capacity() * 256 / 280};
    EXPECT_NEAR(*of(verdict_of(now, &before), "pcie_bandwidth").used, 0.95, 1e-6);
    EXPECT_LT(*of(verdict_of(now), "pcie_bandwidth").used, 0.01);
    for (report* r : {&before, &now}) r->ports[0].pcie.facts.payload.reset();
    count(before, 0.01, 0.01, 3600);
    count(now, 0.01, 0.01, 3600);
    now.ports[0].pcie.counts["pcie_bytes_down"] += static_cast<uint64_t>(0.93 * capacity());
    EXPECT_NEAR(*of(verdict_of(now, &before), "pcie_bandwidth").used, 0.93, 1e-6);
}

/// A port that sends received a few packets: its counted bytes are not a cost of those.
TEST(verdict, a_link_that_only_sends_is_full_whatever_else_it_received) {
    report before = one_way(10, 10'000'000, 60), now = one_way(10, 20'000'000, 60);
    now.duration_s = 2;
    count(before, 0.1, 0.95);
    count(now, 0.1, 0.95, 2);
    EXPECT_NEAR(*of(verdict_of(now, &before), "pcie_bandwidth").used, 0.95, 1e-6);
    EXPECT_EQ(verdict_of(now, &before).bound, "pcie_bandwidth");
    // By the model, with one packet received in the interval.
    for (report* r : {&before, &now}) {
        r->ports[0].pcie.counts.clear();
        r->ports[0].pcie.facts.profile = profile();
    }
    now.ports[0].totals.rx_packets += 1;
    now.ports[0].totals.rx_bytes += 60;
    const auto sent =
        bill_of(one_way(0, 10'000'000, 60).ports[0].totals, profile(), link_of_8)->tx.total().bytes;
    EXPECT_NEAR(*of(verdict_of(now, &before), "pcie_bandwidth").used,
                10e6 * std::max(sent.up, sent.down) / capacity(), 1e-4);
}

/// An hour of 64-byte frames, then a second of 1,500 bytes.
TEST(verdict, a_modelled_link_is_priced_with_the_sizes_of_the_interval) {
    report before = one_way(3600'000'000, 0, 60), now = before;
    before.duration_s = 3600;
    now.duration_s = 3601;
    for (report* r : {&before, &now}) {
        r->ports[0].totals.rx_load.sizes[0] = {1'000'000, 60'000'000};
        r->ports[0].pcie.facts.profile = profile();
    }
    now.ports[0].totals.rx_packets += 4'000'000;
    now.ports[0].totals.rx_bytes += 4'000'000ULL * 1496;
    now.ports[0].totals.rx_load.sizes[23] = {60'000, 60'000 * 1496};
    const double used = *of(verdict_of(now, &before), "pcie_bandwidth").used;
    EXPECT_GT(used, 4e6 * 1496 / capacity());
    EXPECT_LT(used, 4e6 * 1496 * 1.25 / capacity());
}

/// Samples of the few packets at the start do not stand for the stream.
TEST(pcie_load, samples_of_another_mean_size_are_not_the_mix) {
    port_totals n;
    n.rx_packets = 1'000'000;
    n.rx_bytes = 1'000'000ULL * 1496;
    n.rx_load.sizes[0] = {6, 360};
    const auto by_mean = bill_of(n, profile(), link_of_8);
    ASSERT_TRUE(by_mean);
    EXPECT_NEAR(by_mean->rx.data_bytes, 1496, 1);
    n.rx_load.sizes[0] = {500, 500 * 60};
    n.rx_load.sizes[23] = {500, 500 * 1496};
    n.rx_bytes = 1'000'000ULL * 778;
    const auto by_mix = bill_of(n, profile(), link_of_8);
    ASSERT_TRUE(by_mix);
    EXPECT_NEAR(by_mix->rx.data_bytes, 778, 1);
    EXPECT_NE(by_mix->rx.total().lines.itom, by_mean->rx.total().lines.itom);
}

/// After an hour a port is added, whose wire is full for a minute.
TEST(verdict, a_younger_ports_rates_are_of_its_own_time) {
    report r = second(0.5);
    r.duration_s = 3660;
    r.ports[0].duration_s = 60;
    r.ports[0].link_mbps = 7000;
    r.ports[0].totals.rx_packets = r.ports[0].totals.tx_packets = 600'000'000;
    r.ports[0].totals.rx_bytes = r.ports[0].totals.tx_bytes = 36'000'000'000;
    EXPECT_NEAR(*of(verdict_of(r), "line_rate").used, 0.96, 1e-9);
    report before = second(0.5);
    before.duration_s = 3590;
    before.ports.clear();
    EXPECT_NEAR(*of(verdict_of(r, &before), "line_rate").used, 0.96, 1e-9);
}

TEST(verdict, a_core_that_only_handles_packets_of_control_is_busy) {
    report r = second(0.99);
    r.workers[0].injected = std::exchange(r.workers[0].packets, 0);
    const verdict v = verdict_of(r);
    EXPECT_EQ(v.bound, "core");
    EXPECT_NEAR(*of(v, "core").more_pps, 10e6 * (1 / 0.99 - 1), 1);
}

/// With one lcore, control takes half of it: packets that use the other half fill the core.
TEST(verdict, a_core_is_full_when_packets_use_all_that_control_leaves) {
    report r = second(0.5);
    r.workers[0].control_cycles = hz / 2;
    EXPECT_EQ(verdict_of(r).bound, "core");
    EXPECT_DOUBLE_EQ(*of(verdict_of(r), "core").more_pps, 0);
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

/// The PMU's figures are means since the counters were opened: of the interval, where there is an earlier report.
TEST(verdict, stalls_and_latencies_are_of_now_where_there_is_an_earlier_report) {
    report before = second(0.5), now = second(0.5);
    now.duration_s = 2;
    now.workers[0].packets *= 2;
    now.workers[0].total_cycles *= 2;
    now.workers[0].busy_cycles *= 2;
    before.workers[0].core.values = {{"cycles", 3e9}, {"l3_bound", 0.0}};
    now.workers[0].core.values = {{"cycles", 6e9}, {"l3_bound", 0.25}};
    EXPECT_DOUBLE_EQ(*of(verdict_of(now, &before), "l3").used, 0.5);
    EXPECT_NEAR(*of(verdict_of(now, &before), "l3").more_pps, 10e6, 1);
    EXPECT_DOUBLE_EQ(*of(verdict_of(now), "l3").used, 0.25);
    before.ports[0].pcie.measured = measured_object("read_latency_ns", 400);
    now.ports[0].pcie.measured = measured_object("read_latency_ns", 900);
    before.ports[0].pcie.facts.payload = pcie_payload{.seconds = 1, .read_bytes = 1e9};
    now.ports[0].pcie.facts.payload = pcie_payload{.seconds = 2, .read_bytes = 2e9};
    now.ports[0].rx_missed = 1;
    EXPECT_EQ(verdict_of(now, &before).bound, "pcie_latency");  // 1,400 ns
    EXPECT_EQ(verdict_of(now).bound, "idle");
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
