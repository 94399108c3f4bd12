// SPDX-License-Identifier: BSD-3-Clause
// "Benchmarking and Analysis of Software Data Planes" (2017): what it prints, by our metrics of its CPU.
#include <gtest/gtest.h>

#include <cmath>

#include "unit/pmu/machine.hpp"

namespace turnpike::pmu {
namespace {

/// A number as it is printed: it stands for all that are rounded to it.
struct printed {
    double value, half;
    [[nodiscard]] double low() const { return value - half; }
    [[nodiscard]] double high() const { return value + half; }
};
constexpr printed tenths(double v) { return {v, 0.05}; }
constexpr printed whole(double v) { return {v, 0.5}; }

struct paper_row {
    const char* workload;
    double mpps[2], ipp[2], ipc[2], cpp[2];  // without and with Hyper-Threading
};
// Table 4, Xeon E5-2699 v4 at 2.2 GHz.
constexpr paper_row table_4[] = {
    {"DPDK-Testpmd L2 Loop", {34.6, 44.9}, {92, 97}, {1.4, 2.0}, {64, 49}},
    {"DPDK-L3Fwd IPv4 Forwarding", {24.5, 34.0}, {139, 140}, {1.5, 2.2}, {90, 65}},
    {"VPP L2 Patch Cross-Connect", {15.7, 19.1}, {272, 273}, {1.9, 2.4}, {140, 115}},
    {"VPP L2 MAC Switching", {8.7, 10.4}, {542, 563}, {2.1, 2.7}, {253, 212}},
    {"OVS-DPDK L2 Cross-connect", {8.2, 11.0}, {533, 511}, {2.0, 2.6}, {269, 199}},
    {"VPP IPv4 Routing", {10.5, 12.2}, {496, 499}, {2.4, 2.8}, {210, 180}}};
// Table 5, Xeon E5-2667 v4 at 3.2 GHz.
constexpr paper_row table_5[] = {
    {"DPDK-Testpmd L2 Loop", {47.0, 63.8}, {92, 96}, {1.4, 1.9}, {68, 50}},
    {"DPDK-L3Fwd IPv4 Forwarding", {34.9, 48.0}, {139, 139}, {1.5, 2.1}, {92, 67}},
    {"VPP L2 Patch Cross-Connect", {22.2, 27.1}, {273, 274}, {1.9, 2.3}, {144, 118}},
    {"VPP L2 MAC Switching", {12.3, 14.7}, {542, 563}, {2.1, 2.6}, {259, 218}},
    {"OVS-DPDK L2 Cross-Connect", {11.8, 14.6}, {531, 490}, {2.0, 2.2}, {272, 220}},
    {"VPP IPv4 Routing", {15.1, 17.8}, {494, 497}, {2.3, 2.8}, {212, 180}}};

/// A core's second.
struct second {
    double ipp, ipc, cpp;
};
second of_a_second(double ghz, double mpps, double instructions) {
    static recorded_machine m("broadwellx");
    m.counts({{"cpu",
               {{"cycles", static_cast<uint64_t>(std::llround(ghz * 1e9))},
                {"instructions", static_cast<uint64_t>(std::llround(instructions))}}}});
    const measurement core = counted(measurement::of_core(m.on(), {.cpu = 0}));
    const given_values given{{"packets", mpps * 1e6}};
    return {core.value("ipp", given)->value, core.value("ipc", given)->value,
            core.value("core_cpp", given)->value};
}

bool meet(double low, double high, printed p) { return low <= p.high() && high >= p.low(); }

/// CPP comes of throughput and frequency (equation 5), IPP of IPC and CPP (equation 3), and back.
/// Returns how many of the three come out even from the rounded numbers as they are printed.
int check(const paper_row& r, int threads, double ghz) {
    const printed mpps = tenths(r.mpps[threads]), ipc = tenths(r.ipc[threads]);
    const printed ipp = whole(r.ipp[threads]), cpp = whole(r.cpp[threads]);
    const double cycles = ghz * 1e9;
    const second least = of_a_second(ghz, mpps.high(), ipc.low() * cycles);
    const second most = of_a_second(ghz, mpps.low(), ipc.high() * cycles);
    EXPECT_TRUE(meet(least.cpp, most.cpp, cpp))
        << r.workload << " cpp " << least.cpp << " to " << most.cpp;
    EXPECT_TRUE(meet(least.ipp, most.ipp, ipp))
        << r.workload << " ipp " << least.ipp << " to " << most.ipp;
    const second same = of_a_second(ghz, ghz * 1e3 / cpp.value, ipp.value / cpp.value * cycles);
    EXPECT_TRUE(meet(same.ipc, same.ipc, ipc)) << r.workload << " ipc " << same.ipc;
    EXPECT_NEAR(same.ipp, ipp.value, 1e-6);
    const second plain = of_a_second(ghz, mpps.value, ipc.value * cycles);
    return std::round(plain.cpp) == cpp.value;
}

TEST(paper, tables_4_and_5_come_out_in_all_rows) {
    int even = 0;
    for (int threads : {0, 1}) {
        for (const paper_row& r : table_4) even += check(r, threads, 2.2);
        for (const paper_row& r : table_5) even += check(r, threads, 3.2);
    }
    // In the other rows, a throughput of one decimal does not determine the last digit of CPP.
    EXPECT_EQ(even, 19);
}

/// Figure 24: pcm-pcie beside DPDK's l3fwd at 29.8 Mpps.
TEST(paper, section_8_5_comes_out) {
    recorded_machine m("broadwellx");
    std::map<std::string, uint64_t> zero;
    for (const event& e : m.table.events)
        if (e.pmu == "cbox") zero[e.name] = 0;
    auto first = zero, second = zero;
    first["rd_cur_all"] = 22'000'000, second["rd_cur_all"] = 23'000'000;
    first["rfo_all"] = 8'587'000, second["itom_all"] = 33'000'000;
    first["wil_all"] = 1'891'000, first["crd_all"] = 449'000, second["crd_missed"] = 24;
    first["drd_all"] = 102'000'000, second["drd_missed"] = 3276;
    m.counts({{"uncore_cbox_0", first}, {"uncore_cbox_1", second}});
    const measurement io = counted(measurement::of_socket(m.on(), 0));
    constexpr double packets = 29.8e6;
    const auto value = [&](const char* name) {
        const auto v = io.value(name, {{"seconds", 1.0}, {"packets", packets}});
        EXPECT_TRUE(v) << v.error().message();
        return v ? v->value : 0;
    };
    EXPECT_EQ(value("rd_cur"), 45e6);
    EXPECT_EQ(value("itom"), 33e6);
    EXPECT_EQ(value("rfo"), 8'587'000);
    EXPECT_EQ(value("prd"), 0);
    // "All PCIe to memory read requests are fulfilled from LLC", and all full writes.
    EXPECT_EQ(value("read_l3_hit"), 1);
    EXPECT_EQ(value("write_l3_hit"), 1);
    EXPECT_LT(value("drd_miss"), 0.0001);
    // The paper's own account: 29.8 M packets, and their two descriptors four to a line.
    EXPECT_NEAR(value("rd_cur"), packets * (1 + 0.25 + 0.25), 0.5e6);
    EXPECT_NEAR(value("wil"), packets / 32 + packets / 32, 0.05e6);
    // Table 7, l3fwd: 1.51 reads and 1.40 writes a packet.
    EXPECT_TRUE(meet(value("rd_cur") / packets, value("rd_cur") / packets, {1.51, 0.005}));
    const double writes = (value("itom") + value("rfo")) / packets;
    EXPECT_TRUE(meet(writes, writes, {1.40, 0.005}));
}

// Table 7: bandwidths in MB/s, and transactions of 64 bytes a packet.
struct pcie_row {
    const char* workload;
    double mpps, write_mb_s, read_mb_s, writes, reads;
};
constexpr pcie_row table_7[] = {{"DPDK-Testpmd L2 looping", 148.3, 13397, 14592, 1.41, 1.54},
                                {"DPDK-L3Fwd IPv4 forwarding", 132.2, 11844, 12798, 1.40, 1.51},
                                {"VPP L2 Cross-connect", 72.3, 6674, 6971, 1.44, 1.51},
                                {"VPP L2 Switching", 41.0, 4329, 3952, 1.65, 1.51},
                                {"OVS-DPDK L2 Cross-connect", 31.2, 3651, 3559, 1.83, 1.78},
                                {"VPP IPv4 Routing", 48.0, 4805, 4619, 1.56, 1.50}};

TEST(paper, table_7_comes_out) {
    for (const pcie_row& r : table_7) {
        recorded_machine m("broadwellx");
        std::map<std::string, uint64_t> box;
        for (const event& e : m.table.events)
            if (e.pmu == "cbox") box[e.name] = 0;
        auto other = box;
        box["rd_cur_all"] = static_cast<uint64_t>(std::llround(r.reads * r.mpps * 1e6));
        box["itom_all"] = static_cast<uint64_t>(std::llround(r.writes * r.mpps * 1e6));
        m.counts({{"uncore_cbox_0", box}, {"uncore_cbox_1", other}});
        const measurement io = counted(measurement::of_socket(m.on(), 0));
        // As exact as two digits behind the point of the transactions allow.
        const double unit = 0.005 * r.mpps * 64 + 0.05 * r.reads * 64;
        EXPECT_NEAR(io.value("inbound_read_mb_s", {{"seconds", 1.0}})->value, r.read_mb_s, unit)
            << r.workload;
        EXPECT_NEAR(io.value("inbound_write_mb_s", {{"seconds", 1.0}})->value, r.write_mb_s, unit)
            << r.workload;
    }
}

/// Figure 21: pcm-memory, four channels of socket 0.
TEST(paper, memory_bandwidth_of_section_7_comes_out) {
    constexpr double reads[] = {2926.30, 2922.41, 2926.51, 2922.49};
    constexpr double writes[] = {53.52, 48.90, 53.90, 45.61};
    constexpr const char* channels[] = {"uncore_imc_0", "uncore_imc_1", "uncore_imc_4",
                                        "uncore_imc_5"};
    recorded_machine m("broadwellx");
    std::map<std::string, std::map<std::string, uint64_t>> counts;
    for (int i = 0; i < 4; ++i)
        counts[channels[i]] = {
            {"cas_read", static_cast<uint64_t>(std::llround(reads[i] * 1e6 / 64))},
            {"cas_write", static_cast<uint64_t>(std::llround(writes[i] * 1e6 / 64))}};
    m.counts(counts);
    const measurement memory = counted(measurement::of_socket(m.on(), 0));
    const given_values given{{"seconds", 1.0}, {"dram_max_mb_s", 70000}};
    const auto two_digits = [](double v) { return std::round(v * 100) / 100; };
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(two_digits(memory.value("channel_read_mb_s", given, channels[i])->value),
                  reads[i]);
        EXPECT_EQ(two_digits(memory.value("channel_write_mb_s", given, channels[i])->value),
                  writes[i]);
    }
    // "NODE 0 Mem Read 11697.71", "Write 201.93", "Memory 11899.63" (of sums before rounding).
    EXPECT_EQ(two_digits(memory.value("dram_read_mb_s", given)->value), 11697.71);
    EXPECT_EQ(two_digits(memory.value("dram_write_mb_s", given)->value), 201.93);
    EXPECT_NEAR(memory.value("dram_mb_s", given)->value, 11899.63, 0.011);
    // "only ~17% of that is consumed"
    EXPECT_EQ(std::round(memory.value("dram_utilisation", given)->value * 100), 17);
}

}  // namespace
}  // namespace turnpike::pmu
