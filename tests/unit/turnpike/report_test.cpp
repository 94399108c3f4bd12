// SPDX-License-Identifier: BSD-3-Clause
#include "observe/report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "counters/latency_histogram.hpp"
#include "observe/baseline.hpp"
#include "observe/sflow.hpp"

namespace turnpike::observe {
namespace {

using namespace counters;

TEST(burst_bin, every_size_has_its_bin) {
    const std::map<uint32_t, std::string> edges = {
        {1, "1"},     {2, "2-4"},    {4, "2-4"},    {5, "5-8"},  {8, "5-8"}, {9, "9-16"},
        {16, "9-16"}, {17, "17-31"}, {31, "17-31"}, {32, "32+"}, {64, "32+"}};
    for (const auto& [packets, name] : edges) EXPECT_EQ(burst_bin_names[burst_bin(packets)], name);
}

TEST(meter, only_iterations_with_packets_are_busy) {
    meter m;
    m.iteration(0, 0, 100);
    m.iteration(10, 0, 1000);
    worker_report w;
    w.add(m, {"rx", "tx"});
    w.tsc_hz = 1100;
    EXPECT_EQ(w.packets, 10U);
    EXPECT_EQ(w.busy_cycles, 1000U);
    EXPECT_EQ(w.total_cycles, 1100U);
    EXPECT_DOUBLE_EQ(w.cpp(), 100);
    EXPECT_DOUBLE_EQ(w.utilisation(), 1000.0 / 1100);
    EXPECT_DOUBLE_EQ(w.pps(), 10);
    // 1,100 Hz / 100 cycles = 11 packets a second fit; 10 in 1 s are forwarded.
    EXPECT_DOUBLE_EQ(w.headroom_pps(), 1);
}

/// Replies, released packets and packets of the kernel take the worker's time, too.
TEST(meter, iterations_with_packets_of_control_are_busy) {
    meter m;
    m.iteration(0, 0, 100);
    m.iteration(0, 30, 3000);
    worker_report w;
    w.add(m, {"rx", "tx"});
    w.tsc_hz = 3100;
    EXPECT_EQ(w.packets, 0U);
    EXPECT_EQ(w.injected, 30U);
    EXPECT_EQ(w.busy_cycles, 3000U);
    EXPECT_DOUBLE_EQ(w.cpp(), 100);
    EXPECT_DOUBLE_EQ(w.utilisation(), 3000.0 / 3100);
    EXPECT_NEAR(w.headroom_pps(), 1, 1e-9);
    m.iteration(10, 10, 2000);
    worker_report both;
    both.add(m, {"rx", "tx"});
    EXPECT_EQ(both.packets, 10U);
    EXPECT_DOUBLE_EQ(both.cpp(), 100);
}

/// Control uses 400 of 1,000 cycles; packets could use 600 and use 300.
TEST(meter, cycles_of_control_are_not_those_of_packets) {
    meter m;
    m.iteration(0, 0, 300);
    m.iteration(3, 0, 300);
    m.lent(400);
    worker_report w;
    w.add(m, {"rx", "tx"});
    w.tsc_hz = 1000;
    EXPECT_EQ(w.total_cycles, 1000U);
    EXPECT_EQ(w.control_cycles, 400U);
    EXPECT_DOUBLE_EQ(w.cpp(), 100);
    EXPECT_DOUBLE_EQ(w.utilisation(), 0.5);
    EXPECT_DOUBLE_EQ(w.pps(), 3);
    EXPECT_DOUBLE_EQ(w.headroom_pps(), 3);
}

/// A worker that was added after an hour: its rates are of its own time.
TEST(worker_report, rates_are_of_the_time_that_it_ran) {
    worker_report w;
    w.tsc_hz = 2'000'000'000;
    w.packets = 600'000'000;  // 10 Mpps for a minute, without a pause
    w.total_cycles = w.busy_cycles = 60 * w.tsc_hz;
    EXPECT_DOUBLE_EQ(w.pps(), 1e7);
    EXPECT_DOUBLE_EQ(w.headroom_pps(), 0);
}

TEST(meter, one_burst_in_64_is_sampled) {
    meter m;
    constexpr int bursts = 640'000;
    int sampled = 0;
    for (int i = 0; i < bursts; ++i) {
        sampled += m.sample_next();
        m.burst(32);
    }
    // Distances are uniform in 1 to 127: the deviation of 10,000 of them is 100 * 36.7 / 64 samples.
    EXPECT_NEAR(sampled, bursts / 64, 300);
}

/// A worker polls its queues in a fixed order: each of them is sampled as often as the others.
TEST(meter, samples_of_queues_polled_in_turn_are_equally_frequent) {
    for (const uint32_t queues : {2U, 3U, 4U, 8U, 16U, 64U}) {
        meter m;
        std::vector<int> sampled(queues);
        for (uint32_t i = 0; i < 64 * 1000 * queues; ++i) {
            sampled[i % queues] += m.sample_next();
            m.burst(32);
        }
        for (const int n : sampled) EXPECT_NEAR(n, 1000, 150) << queues;
    }
}

TEST(stage_clock, bills_only_when_on) {
    meter m;
    stage_clock off(m, false);
    off.mark(0, 32);
    EXPECT_EQ(m.sampled[0].packets.read(), 0U);
    stage_clock on(m, true);
    on.mark(0, 32);
    on.mark(2, 32);
    EXPECT_EQ(m.sampled[0].packets.read(), 32U);
    EXPECT_EQ(m.sampled[2].packets.read(), 32U);
    EXPECT_EQ(m.sampled[1].packets.read(), 0U);
}

/// A CPU that executes seven instructions for a poll, or a number set by the test.
class told_counter : public own_counter {
  public:
    [[nodiscard]] std::optional<uint64_t> read() const noexcept override {
        count += 7;
        return here ? std::optional(count) : std::nullopt;
    }
    mutable uint64_t count = 1;
    bool here = true;
};

TEST(stage_clock, counts_instructions_less_those_of_looking) {
    meter m;
    told_counter cpu;
    m.count_instructions(&cpu);
    stage_clock clock(m, true);
    cpu.count += 640;
    clock.mark(0, 32);
    cpu.count += 320;
    clock.mark(1, 16);
    EXPECT_EQ(m.sampled[0].counted_packets.read(), 32U);
    EXPECT_EQ(m.sampled[0].instructions.read(), 640U);
    EXPECT_EQ(m.sampled[1].instructions.read(), 320U);
    EXPECT_EQ(m.sampled[1].packets.read(), 16U);
    // The counter has another event meanwhile: the interval gives no number.
    cpu.here = false;
    clock.mark(0, 32);
    cpu.here = true;
    clock.mark(0, 32);
    EXPECT_EQ(m.sampled[0].packets.read(), 96U);
    EXPECT_EQ(m.sampled[0].counted_packets.read(), 32U);
    m.count_instructions(nullptr);
    stage_clock without(m, true);
    without.mark(0, 1);
    EXPECT_EQ(m.sampled[0].counted_packets.read(), 32U);
}

TEST(stage_clock, takes_off_what_a_look_costs) {
    // The minimum of short series: a busy machine interrupts most long ones.
    uint64_t marked = UINT64_MAX, cost = UINT64_MAX;
    for (int series = 0; series < 200; ++series) {
        meter m;
        for (int i = 0; i < 100; ++i) {
            stage_clock clock(m, true);
            clock.mark(0, 1);
        }
        marked = std::min(marked, m.sampled[0].cycles.read());
        lap_clock looks(nullptr);
        looks.begin();
        uint64_t sum = 0;
        for (int i = 0; i < 100; ++i) sum += looks.next().cycles;
        cost = std::min(cost, sum);
    }
    EXPECT_LT(marked, cost + cost / 2);
}

worker_report sampled_worker(bool counted) {
    worker_report w;
    w.packets = 6400;
    w.busy_cycles = 6400 * 100;
    const auto stage = [&](std::string_view name, uint64_t packets, uint64_t cycles) {
        w.stages.push_back(
            {name, packets, cycles, counted ? packets : 0, counted ? 2 * cycles : 0});
    };
    stage("rx", 100, 2000);
    stage("plain", 100, 4000);
    stage("acl_in", 0, 0);
    stage("drop", 10, 500);
    stage("tx", 90, 900);
    return w;
}

TEST(groups, are_the_papers_three) {
    EXPECT_TRUE(worker_report{}.groups().empty());
    const auto groups = sampled_worker(false).groups();
    ASSERT_EQ(groups.size(), 3U);
    EXPECT_EQ(groups[0].name, "io");
    EXPECT_DOUBLE_EQ(groups[0].cycles, 29);
    EXPECT_EQ(groups[1].name, "processing");
    EXPECT_DOUBLE_EQ(groups[1].cycles, 45);
    EXPECT_EQ(groups[2].name, "other");
    EXPECT_DOUBLE_EQ(groups[2].cycles, 26);
    for (const auto& g : groups) EXPECT_FALSE(g.instructions);
}

TEST(groups, have_instructions_where_they_are_counted) {
    worker_report w = sampled_worker(true);
    EXPECT_EQ(w.stages[1].instructions_per_packet(), 80.0);
    EXPECT_EQ(w.stages[2].instructions_per_packet(), std::nullopt);
    EXPECT_EQ(w.groups()[0].instructions, 58.0);
    EXPECT_EQ(w.groups()[1].instructions, 90.0);
    EXPECT_FALSE(w.groups()[2].instructions);  // the sum over all workers is unknown
    w.core.values["ipp"] = 158;
    EXPECT_EQ(w.groups()[2].instructions, 10.0);
    w.core.values["ipp"] = 100;
    EXPECT_EQ(w.groups()[2].instructions, 0.0);
}

TEST(groups, are_in_the_report) {
    report r;
    r.workers.push_back(sampled_worker(true));
    r.workers.push_back({});
    const auto whole = to_json(r);
    const auto& groups = whole["workers"][0]["groups"];
    ASSERT_EQ(groups.size(), 3U);
    EXPECT_EQ(groups[0], nlohmann::json({{"name", "io"},
                                         {"cycles_per_packet", 29.0},
                                         {"instructions_per_packet", 58.0}}));
    EXPECT_TRUE(groups[2]["instructions_per_packet"].is_null());
    EXPECT_TRUE(whole["workers"][1]["groups"].empty());
    EXPECT_EQ(whole["workers"][0]["stages"][0]["instructions_per_packet"], 40.0);
    EXPECT_NE(to_table(r, nullptr).find("= io 29 + processing 45 + other 26"), std::string::npos)
        << to_table(r, nullptr);
}

report two_ports() {
    report r;
    r.duration_s = 2;
    r.tsc_hz = 1'000'000'000;
    r.ports.resize(2);
    r.ports[0].name = "west";
    r.ports[0].pcie.why["counted"] = "it cannot count";
    r.ports[1].name = "east";
    port_counters west, east;
    west.rx_packets.add(10);
    west.drop(datapath::drop_reason::runt, 26, 2);
    east.tx_packets.add(7);
    east.drop(datapath::drop_reason::tx_refused, 60);
    east.originated.add(1);
    east.consumed.add(1);
    r.ports[0].totals.add(west);
    r.ports[1].totals.add(east);
    return r;
}

/// The words of a port's line below the heading `rates`; empty: there is none.
std::vector<std::string> rates_line(const std::string& table, const std::string& port) {
    const size_t heading = table.find("\nrates ");
    if (heading == std::string::npos) return {};
    const size_t line = table.find("\n" + port + " ", heading);
    if (line == std::string::npos) return {};
    std::istringstream in(table.substr(line + 1, table.find('\n', line + 1) - line));
    return {std::istream_iterator<std::string>(in), {}};
}

TEST(report, rates_of_ports) {
    using words = std::vector<std::string>;
    report then = two_ports();
    EXPECT_EQ(to_table(then).find("\nrates"), std::string::npos) << "the sum of removed ports";
    then.ports[0].life = 1;
    then.ports[1].life = 2;
    EXPECT_EQ(rates_line(to_table(then), "west"), (words{"west", "5", "0", "0", "0", "0", "1"}))
        << "since the start";
    report now = then;
    now.duration_s = 4;
    now.ports[0].totals.rx_packets += 3'000'000;
    now.ports[0].totals.rx_bytes += 192'000'000;
    now.ports[0].rx_missed = 8;
    now.ports[1].life = 3;  // removed and added again
    EXPECT_EQ(rates_line(to_table(now, &then), "west"),
              (words{"west", "1.50", "M", "0", "768.00", "M", "0", "4", "0"}));
    EXPECT_EQ(rates_line(to_table(now, &then), "east"), words{});
    then.ports[0].totals.rx_packets = now.ports[0].totals.rx_packets + 1;
    EXPECT_EQ(rates_line(to_table(now, &then), "west").at(1), "-") << "fewer than before";
}

TEST(baseline, subtracts_the_time_of_a_ports_counters) {
    report now;
    now.duration_s = 100;
    now.ports.push_back({.name = "young", .life = 7, .duration_s = 10});
    const baseline cleared(now);
    now.duration_s = 105;
    now.ports[0].duration_s = 15;
    cleared.subtract_from(now);
    EXPECT_DOUBLE_EQ(now.duration_s, 5);
    EXPECT_DOUBLE_EQ(now.ports[0].duration_s, 5);
    now.ports[0].life = 8;
    now.ports[0].duration_s = 2;
    cleared.subtract_from(now);
    EXPECT_DOUBLE_EQ(now.ports[0].duration_s, 2) << "added since";
}

TEST(baseline, has_the_losses_of_a_port_that_was_removed) {
    report now;
    now.ports.push_back({.name = "west", .life = 7, .rx_missed = 5, .rx_no_buffer = 1});
    const baseline cleared(now);
    now.ports[0] = {.name = "(removed)", .rx_missed = 7, .rx_no_buffer = 4};
    cleared.subtract_from(now);
    EXPECT_EQ(now.ports[0].rx_missed, 2U);
    EXPECT_EQ(now.ports[0].rx_no_buffer, 3U);
}

TEST(size_samples, a_bin_for_every_64_bytes) {
    port_counters c;
    for (const uint32_t bytes : {60U, 63U, 64U, 1514U, 9000U, 9100U}) c.rx_sizes.add(bytes);
    c.rx_bursts.add(2);
    port_report p;
    p.totals.add(c);
    EXPECT_EQ(p.totals.rx_load.sizes[0].packets, 2U);
    EXPECT_EQ(p.totals.rx_load.sizes[0].bytes, 123U);
    EXPECT_EQ(p.totals.rx_load.sizes[1].packets, 1U);
    EXPECT_EQ(p.totals.rx_load.sizes[1514 / 64].packets, 1U);
    EXPECT_EQ(p.totals.rx_load.sizes.back().packets, 2U);
    EXPECT_EQ(p.totals.rx_load.bursts, 2U);
}

/// Each time below 16 ns has its own bin, which ends 1 ns later.
TEST(latency_report, quantiles_are_the_nearest_rank) {
    latency_report r;
    r.bins.resize(counters::latency_histogram::bins);
    EXPECT_EQ(r.quantile_ns(0.5), 0U) << "no samples";
    for (uint64_t n = 1; n <= 12; ++n) {  // 1 ns, 2 ns, ... n ns
        ++r.bins[counters::latency_histogram::bin_of(n)];
        r.samples = n;
        r.max_ns = 15;
        EXPECT_EQ(r.quantile_ns(0.5), (n + 1) / 2 + 1) << n;
        EXPECT_EQ(r.quantile_ns(0.99), n + 1) << n;
    }
    r.bins.assign(r.bins.size(), 0);
    r.bins[1] = 990;
    r.bins[5] = 10;
    r.samples = 1000;
    EXPECT_EQ(r.quantile_ns(0.99), 2U) << "990 of 1000 are no more";
    EXPECT_EQ(r.quantile_ns(0.999), 6U);
}

TEST(sflow_counters, are_of_received_packets_with_their_fcs) {
    using datapath::drop_reason;
    port_totals n;
    n.rx_packets = 10;
    n.rx_bytes = 600;
    n.tx_packets = 3;
    n.tx_bytes = 180;
    const auto drops = [&](drop_reason why) -> uint64_t& {
        return n.drops[static_cast<size_t>(why)];
    };
    drops(drop_reason::no_route) = 4;
    drops(drop_reason::tx_refused) = 5;
    drops(drop_reason::flood_memory) = 300;
    drops(drop_reason::mirror_unreachable) = 20;
    sflow::interface_counters c;
    c.set(n, 2);
    EXPECT_EQ(c.rx_packets, 10U);
    EXPECT_EQ(c.rx_bytes, 640U);
    EXPECT_EQ(c.tx_bytes, 192U);
    EXPECT_EQ(c.rx_discards, 6U);
    EXPECT_EQ(c.tx_discards, 5U);
    drops(drop_reason::port_down) = 40;  // copies of flooded packets
    c.set(n, 2);
    EXPECT_EQ(c.rx_discards, 12U) << "no more than were received";
}

TEST(balance, holds_over_all_ports) {
    const report r = two_ports();
    EXPECT_TRUE(r.total().holds());
    EXPECT_EQ(r.total().drops, 3U);
    EXPECT_EQ(r.drops(), (std::map<std::string, uint64_t>{{"runt", 2}, {"tx_refused", 1}}));
    EXPECT_EQ(r.ports[0].totals.drop_bytes[static_cast<size_t>(datapath::drop_reason::runt)], 26U);
    report lost = r;
    lost.ports[0].totals.rx_packets += 1;
    EXPECT_FALSE(lost.total().holds());
}

TEST(report, json_has_the_schema) {
    const nlohmann::json j = to_json(two_ports());
    EXPECT_EQ(j["schema"], "turnpike.report/2");
    EXPECT_EQ(j["balance"]["rx"], 10);
    EXPECT_EQ(j["drops"]["runt"], 2);
    EXPECT_TRUE(j["ports"][0]["pcie"]["counted"].is_null());
    EXPECT_EQ(j["ports"][0]["pcie"]["why"]["counted"], "it cannot count");
}

TEST(report, access_lists) {
    report r = two_ports();
    EXPECT_EQ(to_json(r)["acl"], nlohmann::json::array());
    EXPECT_EQ(to_table(r).find("acl "), std::string::npos);
    acl_report a{
        .interface = "west", .direction = "in", .list = "edge", .permitted = 7, .denied = 3};
    for (uint64_t i = 0; i < 12; ++i)
        a.rules.push_back({.action = "permit",
                           .where = "f.yaml:" + std::to_string(i),
                           .packets = i,
                           .bytes = 60 * i,
                           .by_worker = {i, 0}});
    a.rules.back().name = "web";
    r.acls.push_back(a);
    const nlohmann::json j = to_json(r)["acl"][0];
    EXPECT_EQ(j["port"], "west");
    EXPECT_EQ(j["permitted"], 7);
    EXPECT_EQ(j["denied"], 3);
    ASSERT_EQ(j["rules"].size(), 12U);
    EXPECT_TRUE(j["rules"][0]["name"].is_null());
    EXPECT_EQ(j["rules"][11]["name"], "web");
    EXPECT_EQ(j["rules"][2]["where"], "f.yaml:2");
    EXPECT_EQ(j["rules"][2]["bytes"], 120);
    EXPECT_EQ(j["rules"][2]["workers"], (nlohmann::json{2, 0}));
    const std::string message = to_table(r);
    EXPECT_NE(message.find(
                  "acl west in edge  permitted 7  denied 3   permit web 11  permit f.yaml:10 10"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("permit f.yaml:4 4  and 3 rules more\n"), std::string::npos) << message;
}

TEST(report, no_packets_no_cost) {
    report r = two_ports();
    r.workers.resize(1);
    EXPECT_TRUE(to_json(r)["workers"][0]["cpp"].is_null());
    EXPECT_NE(to_table(r).find("balance"), std::string::npos);
}

/// A list may have a million rules: the baseline is no search in them for each.
TEST(baseline, rules_are_found_by_their_life_in_linear_time) {
    constexpr uint64_t rules = 200'000;
    report then;
    acl_report& list = then.acls.emplace_back();
    list.life = 7;
    for (uint64_t n = 1; n <= rules; ++n)
        list.rules.push_back({.life = n, .packets = n, .bytes = 60 * n, .by_worker = {n}});
    const baseline cleared(then);
    // Since then: a rule in front, two rules exchanged, one removed, and one packet each.
    report now = then;
    auto& moved = now.acls[0].rules;
    for (acl_rule_report& r : moved) {
        r.packets += 1;
        r.by_worker[0] += 1;
    }
    std::swap(moved[100], moved[rules - 100]);
    moved.erase(moved.begin() + 500);
    moved.insert(moved.begin(), {.life = rules + 1, .packets = 42, .bytes = 0, .by_worker = {42}});
    const auto began = std::chrono::steady_clock::now();
    cleared.subtract_from(now);
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5))
        << "a quadratic search takes longer";
    EXPECT_EQ(moved[0].packets, 42U);
    for (size_t r = 1; r < moved.size(); ++r) {
        ASSERT_EQ(moved[r].packets, 1U) << r;
        ASSERT_EQ(moved[r].bytes, 0U) << r;
        ASSERT_EQ(moved[r].by_worker[0], 1U) << r;
    }
}

}  // namespace
}  // namespace turnpike::observe
