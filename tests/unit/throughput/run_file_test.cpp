// SPDX-License-Identifier: BSD-3-Clause
#include "run_file.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace turnpike::throughput {
namespace {

const std::string two_ports =
    "ports: [{name: a, device: net_simnic0}, {name: b, device: net_simnic1}]\n";

TEST(run_file_test, of_two_ports_and_a_procedure_has_the_paper_s_traffic) {
    const auto r = parse_run(two_ports + "throughput: {method: rfc2544}\n", "f.yaml");
    ASSERT_TRUE(r) << r.error().message();
    EXPECT_EQ(r->traffic.flows, 62500u);
    ASSERT_EQ(r->sizes.size(), 1u);
    EXPECT_EQ(r->sizes[0].name, "64");
    EXPECT_EQ(r->throughput.trial_s, 60);
    EXPECT_EQ(r->settle_s, 2);
    EXPECT_EQ(r->tolerance, 0.001);
}

TEST(run_file_test, with_every_key_is_read) {
    const auto r = parse_run(R"(name: all
ports:
  - {name: a, device: "net_simnic0,wire=peer:net_simnic1", address: 10.0.0.2, gateway: 10.0.0.1}
  - {name: b, device: net_simnic1, gateway_mac: "02:00:00:00:00:05"}
traffic: {flows_by: mac, flows: 10, vlan: 5, sizes: [68, imix], both_ways: true}
rate: {max: 1.5M, min: 10k, tolerance_ppm: 500, max_lag_us: 20, settle_ms: 10, attempts: 9, realtime: true, relearn_ms: 0}
throughput:
  method: mlrsearch
  goals: [ndr, {preset: pdr, name: tight, loss_ppm: 10, exceed_ppm: 250000, trial_ms: 500, sum_ms: 1500, first_trial_ms: 100, width_ppm: 2000}]
latency: {trial_ms: 250, percent: [50], direct: ["net_simnic2,wire=peer:net_simnic3", net_simnic3]}
frame_loss: {trial_ms: 100}
back_to_back: {repeats: 3, max_frames: 5000}
system_recovery: {rate: 3k, overload_ms: 300, then_ms: 400, repeats: 2}
reset: {rate: 4k, trial_ms: 900, after_ms: 100, command: "reboot it", repeats: 5}
)",
                             "f.yaml");
    ASSERT_TRUE(r) << r.error().message();
    EXPECT_TRUE(r->traffic.by_mac && r->both_ways);
    EXPECT_EQ(r->traffic.vlan, 5);
    EXPECT_EQ(r->sizes.size(), 2u);
    EXPECT_EQ(r->max_fps, 1.5e6);
    EXPECT_EQ(r->min_fps, 1e4);
    EXPECT_EQ(r->tolerance, 0.0005);
    EXPECT_EQ(r->attempts, 9u);
    EXPECT_EQ(r->relearn_s, 0);
    EXPECT_EQ(run{}.relearn_s, 30);
    EXPECT_TRUE(r->realtime);
    EXPECT_DOUBLE_EQ(r->max_lag_s, 20e-6);
    ASSERT_EQ(r->throughput.goals.size(), 2u);
    const search::goal& g = r->throughput.goals[1];
    EXPECT_EQ(g.name, "tight");
    EXPECT_DOUBLE_EQ(g.loss_ratio, 1e-5);
    EXPECT_DOUBLE_EQ(g.exceed_ratio, 0.25);
    EXPECT_DOUBLE_EQ(g.final_duration_s, 0.5);
    EXPECT_DOUBLE_EQ(g.duration_sum_s, 1.5);
    EXPECT_DOUBLE_EQ(g.initial_duration_s, 0.1);
    EXPECT_DOUBLE_EQ(g.width, 0.002);
    EXPECT_EQ(r->latency.percent, std::vector<unsigned>{50});
    ASSERT_EQ(r->latency.direct.size(), 2u);
    EXPECT_EQ(r->latency.direct[1].device, "net_simnic3");
    EXPECT_EQ(r->latency.direct[1].where, "f.yaml:10");
    EXPECT_EQ(r->back_to_back.max_frames, 5000u);
    EXPECT_TRUE(r->ports[0].gateway && r->ports[1].gateway_mac);
    EXPECT_EQ(r->system_recovery.rate_fps, 3e3);
    EXPECT_DOUBLE_EQ(r->system_recovery.overload_s, 0.3);
    EXPECT_DOUBLE_EQ(r->system_recovery.then_s, 0.4);
    EXPECT_EQ(r->system_recovery.repeats, 2u);
    EXPECT_EQ(r->reset.rate_fps, 4e3);
    EXPECT_DOUBLE_EQ(r->reset.trial_s, 0.9);
    EXPECT_DOUBLE_EQ(r->reset.after_s, 0.1);
    EXPECT_EQ(r->reset.command, "reboot it");
    EXPECT_EQ(r->reset.repeats, 5u);
}

TEST(run_file_test, has_the_paper_s_search_as_a_preset) {
    auto r =
        parse_run(two_ports + std::string("throughput: {method: rfc2544, preset: paper}\n"), "");
    ASSERT_TRUE(r) << r.error().message();
    EXPECT_EQ(r->throughput.trials, 8u);
    EXPECT_EQ(r->throughput.trial_s, 20);
    EXPECT_LT(r->throughput.loss_ratio, 1e-4);
    EXPECT_GT(r->throughput.loss_ratio, 0.99e-4);
    EXPECT_EQ(r->throughput.resolution_fps, 0.1e6);
    r = parse_run(
        two_ports + std::string("throughput: {method: rfc2544, preset: paper, trial_ms: 500}\n"),
        "");
    ASSERT_TRUE(r);
    EXPECT_EQ(r->throughput.trial_s, 0.5);
    EXPECT_EQ(r->throughput.trials, 8u);
}

TEST(run_file_test, names_a_table_and_a_tunnel) {
    std::string name = std::filesystem::temp_directory_path() / "turnpike-run-XXXXXX";
    const std::filesystem::path folder = ::mkdtemp(name.data());
    std::ofstream(folder / "table.txt") << "10.0.0.0/8\n192.0.2.0/24\n";
    const auto r = parse_run(
        R"(ports:
  - {name: a, device: x, address: 10.0.1.2, gateway: 10.0.1.1, vxlan: {vni: 7}}
  - {name: b, device: y, address: 10.0.2.2, vxlan: {vni: 8, remote: 10.0.2.1, inner_mac: "02:00:00:00:00:05"}}
traffic: {destinations: table.txt, seed: 9, flows: 100000, ip: 4}
back_to_back: {}
)",
        folder / "run.yaml");
    std::filesystem::remove_all(folder);
    ASSERT_TRUE(r) << r.error().message();
    ASSERT_TRUE(r->traffic.destinations);
    EXPECT_EQ(r->traffic.destinations->prefixes(), 2u);
    EXPECT_EQ(r->traffic.flows, 100000u);
    EXPECT_EQ(r->seed, 9u);
    ASSERT_TRUE(r->ports[0].vxlan && r->ports[1].vxlan);
    EXPECT_EQ(r->ports[0].vxlan->vni, 7u);
    EXPECT_EQ(r->ports[0].vxlan->local, ip_address::from_v4(0x0a000102));
    EXPECT_EQ(r->ports[0].vxlan->remote, ip_address::from_v4(0x0a000101)) << "the gateway";
    EXPECT_EQ(r->ports[1].vxlan->remote, ip_address::from_v4(0x0a000201));
    EXPECT_TRUE(r->ports[1].vxlan->inner_mac);
    EXPECT_EQ(r->ports[1].encapsulation_bytes(), 50u);
}

struct refused {
    const char* text;     ///< after two_ports, or the whole file if it begins with "ports"
    const char* message;  ///< a part
};

class bad_runs : public testing::TestWithParam<refused> {};

TEST_P(bad_runs, are_refused_by_place) {
    const std::string text = GetParam().text;
    const auto r = parse_run(text.starts_with("ports") ? text : two_ports + text, "f.yaml");
    ASSERT_FALSE(r) << text;
    EXPECT_NE(r.error().message().find(GetParam().message), std::string::npos)
        << r.error().message();
}

INSTANTIATE_TEST_SUITE_P(
    all, bad_runs,
    testing::Values(
        refused{"", "f.yaml:1: run names no procedure"},
        refused{"ports: []\n",
                "f.yaml:1: run.ports should have two ports, or further pairs: up to 16"},
        refused{"ports: [{name: a, device: x}, {name: b, device: y}, {name: c, device: z}]\n",
                "should have two ports, or further pairs"},
        refused{
            "ports: [{name: a, device: w}, {name: b, device: x}, {name: c, device: y}, {name: a, "
            "device: z}]\n",
            "has the name of another port"},
        refused{
            "ports: [{name: a, device: w}, {name: b, device: x}, {name: c, device: y}, {name: d, "
            "device: z}]\ntraffic: {destinations: none.txt}\nback_to_back: {}\n",
            "is of two ports"},
        refused{"ports: [{name: a, device: x}, {name: a, device: y}]\n",
                "has the name of another port"},
        refused{"ports: [{name: a}, {name: b, device: y}]\n", "lacks the key 'device'"},
        refused{"ports: [{name: a, device: x, gateway: 10.0.0.1}, {name: b, device: y}]\n",
                "needs the station's own address"},
        refused{"ports: [{name: a, device: x, address: 10.0.0.2, gateway: \"::1\"}, {name: b, "
                "device: y}]\n",
                "same family"},
        refused{"ports: [{name: a, device: x, gateway_mac: \"01:00:00:00:00:00\"}, {name: b, "
                "device: y}]\n",
                "unicast"},
        refused{"ports: [{name: a, device: x, address: \"::2\"}, {name: b, device: "
                "y}]\nback_to_back: {}\n",
                "IP version"},
        refused{"speed: 1\n", "f.yaml:2: run has no key 'speed'"},
        refused{"traffic: {sizes: []}\nback_to_back: {}\n", "at least one frame size"},
        refused{"traffic: {sizes: [63]}\nback_to_back: {}\n", "from 64"},
        refused{"traffic: {sizes: [64, 64]}\nback_to_back: {}\n", "is there twice"},
        refused{"traffic: {flows: 0}\nback_to_back: {}\n", "from 1 to 65536"},
        refused{"rate: {max: fast}\nback_to_back: {}\n",
                "should be a whole number from 1 to 1000000000"},
        refused{"rate: {max: 2G}\nback_to_back: {}\n",
                "should be a whole number from 1 to 1000000000"},
        refused{"rate: {max: 1k, min: 2k}\nback_to_back: {}\n", "should be below max"},
        refused{"throughput: {method: guess}\n", "rfc2544 or mlrsearch"},
        refused{"throughput: {method: mlrsearch}\n", "lacks the key 'goals'"},
        refused{"throughput: {method: mlrsearch, goals: []}\n", "at least one goal"},
        refused{"throughput: {method: mlrsearch, goals: [ndr, ndr]}\n",
                "has the name of another goal"},
        refused{"throughput: {method: mlrsearch, goals: [fast]}\n", "the presets are rfc2544"},
        refused{"throughput: {method: mlrsearch, goals: [ndr], trials: 8}\n",
                "is of method rfc2544"},
        refused{"throughput: {method: rfc2544, goals: [ndr]}\n", "is of method mlrsearch"},
        refused{"throughput: {method: mlrsearch, goals: [{name: a, width_ppm: 0}]}\n",
                "the width is above 0"},
        refused{"latency: {trial_ms: 10}\n", "needs throughput"},
        refused{"traffic: {flows: 65537}\nback_to_back: {}\n", "from 1 to 65536"},
        refused{"traffic: {seed: 2}\nback_to_back: {}\n", "is of destinations"},
        refused{"traffic: {destinations: none.txt}\nback_to_back: {}\n", "cannot be read"},
        refused{"traffic: {destinations: none.txt, flows_by: mac}\nback_to_back: {}\n",
                "needs flows by IP addresses"},
        refused{"traffic: {pcap: none.pcap}\nback_to_back: {}\n", "none.pcap: No such file"},
        refused{"traffic: {pcap: none.pcap, sizes: [64]}\nback_to_back: {}\n", "is of flows"},
        refused{"traffic: {pcap: [a, b, c]}\nback_to_back: {}\n", "should be a file, or two"},
        refused{"traffic: {pcap: [a, b], split: [10.0.0.0/8]}\nback_to_back: {}\n",
                "is of one capture"},
        refused{"traffic: {pcap: [a, b], both_ways: false}\nback_to_back: {}\n",
                "should be true: each port"},
        refused{"throughput: {method: rfc2544, preset: fast}\n", "should be paper"},
        refused{"throughput: {method: mlrsearch, goals: [ndr], preset: paper}\n",
                "is of method rfc2544"},
        refused{"traffic: {split: [10.0.0.0/8]}\nback_to_back: {}\n", "is of a capture"},
        refused{"ports: [{name: a, device: x, vxlan: {vni: 1}}, {name: b, device: y}]\n",
                "needs the port's own address"},
        refused{"ports: [{name: a, device: x, address: 10.0.0.2, vxlan: {vni: 1}}, {name: b, "
                "device: y}]\n",
                "needs the address of the device's VTEP"},
        refused{"ports: [{name: a, device: x, address: 10.0.0.2, vxlan: {vni: 1, remote: "
                "\"2001:db8::1\"}}, {name: b, device: y}]\n",
                "of the same family as the port's"},
        refused{"ports: [{name: a, device: x, address: 10.0.0.2, gateway: 10.0.0.1, vxlan: {vni: "
                "0}}, {name: b, device: y}]\n",
                "from 1 to 16777215"},
        refused{"system_recovery: {}\n", "needs throughput, or its own rate"},
        refused{"reset: {}\n", "needs throughput, or its own rate"},
        refused{"reset: {rate: 1k, trial_ms: 100, after_ms: 100}\n", "after_ms should be below"},
        refused{"throughput: {method: rfc2544}\nlatency: {direct: [net_simnic2]}\n",
                "should have two devices"},
        refused{"throughput: {method: rfc2544}\nlatency: {percent: [101]}\n", "from 1 to 100"}));

TEST(run_file_test, that_does_not_exist_is_named) {
    const auto r = read_run("/nonexistent/run.yaml");
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, ENOENT);
    EXPECT_NE(r.error().message().find("/nonexistent/run.yaml"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::throughput
