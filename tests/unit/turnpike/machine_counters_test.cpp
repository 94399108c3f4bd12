// SPDX-License-Identifier: BSD-3-Clause
// The "measured" column of a port's PCIe transactions, from a recorded machine.
#include "control/management/machine_counters.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "control/management/pcie_bill.hpp"
#include "lib/source_tree.hpp"
#include "lib/sysfs_tree.hpp"

namespace turnpike::control {
namespace {

observe::port_report port_that_did(uint64_t packets) {
    observe::port_report p;
    p.name = "east";
    p.driver = "net_ixgbe";
    p.life = 7;
    p.totals.rx_packets = p.totals.tx_packets = packets;
    p.totals.rx_bytes = p.totals.tx_bytes = packets * 60;
    return p;
}

/// Thirty-one million packets in two seconds at a device on that machine.
observe::port_report billed(const char* tree_name, const char* address, counters_choice chosen) {
    const test::sysfs_tree tree(test::source_path("tests/data/pmu") / tree_name);
    chosen.sysfs = tree.root().string();
    machine_counters m(chosen);
    m.begin();
    (void)m.of_port(port_that_did(0), address, 0);
    observe::port_report p = port_that_did(31'000'000);
    const auto root = m.of_port(p, address, 2);
    state::pcie wanted;
    wanted.link = "gen3x8";
    const auto profiles = pcie::builtin_profiles();
    fill_pcie_bill(p, wanted, "", {profiles.begin(), profiles.end()}, root);
    return p;
}
counters_choice recorded() {
    return {.recorded = test::source_path("tests/data/pmu/icelakex.counts.yaml").string()};
}

TEST(measured_bill, is_in_the_words_of_the_others) {
    const auto p = billed("icelakex.tree", "0000:3b:00.0", recorded());
    ASSERT_FALSE(p.pcie.measured.empty()) << p.pcie.why.at("measured");
    const auto bill = nlohmann::json::parse(p.pcie.measured);
    const auto& lines = bill["per_packet"]["lines"];
    EXPECT_DOUBLE_EQ(lines["rd_cur"].get<double>(), 3.0);  // 93 of 31 million
    EXPECT_DOUBLE_EQ(lines["wil"].get<double>(), 0.125);
    EXPECT_DOUBLE_EQ(lines["prd"].get<double>(), 0);
    // 86.8 million writes; of the caches' 43.4 million a tenth and more in parts.
    EXPECT_NEAR(lines["itom"].get<double>() + lines["rfo"].get<double>(), 2.8, 1e-9);
    EXPECT_NEAR(lines["rfo"].get<double>(), 2.8 * 10.4 / 43.4, 1e-9);
    EXPECT_DOUBLE_EQ(bill["per_packet"]["data"]["read"].get<double>(), 144);
    const auto modelled =
        nlohmann::json::parse(p.pcie.modelled)["per_packet"]["lines"]["rd_cur"].get<double>();
    EXPECT_DOUBLE_EQ(bill["over_modelled"]["lines"]["rd_cur"].get<double>(),
                     (3.0 - modelled) / modelled);
    EXPECT_EQ(bill["of"], "uncore_iio_2");
    EXPECT_EQ(bill["shared_with"][0], "0000:3b:00.1");
    EXPECT_EQ(bill["counted_share"], 1.0);
    const auto& metrics = bill["metrics"];
    EXPECT_DOUBLE_EQ(metrics["read_latency_ns"].get<double>(), 900);  // 450 clocks of 0.5 GHz
    EXPECT_DOUBLE_EQ(metrics["write_conflicts"].get<double>(), 0.01);
    EXPECT_DOUBLE_EQ(metrics["channel_read_mb_s"]["uncore_imc_1"].get<double>(), 64);
    EXPECT_TRUE(metrics["dram_utilisation"].is_null());
    EXPECT_EQ(bill["why"]["dram_utilisation"], "dram_utilisation: dram_max_mb_s is not known");
    EXPECT_FALSE(p.pcie.why.contains("measured"));
}

/// The verdict's input: the payload of the port's own link.
TEST(measured_payload, is_of_a_stack_that_only_functions_of_the_device_share) {
    const auto p = billed("icelakex.tree", "0000:3b:00.0", recorded());
    const auto& payload = p.pcie.facts.payload;
    ASSERT_TRUE(payload);
    EXPECT_DOUBLE_EQ(payload->seconds, 2);
    EXPECT_DOUBLE_EQ(payload->read_bytes, 31e6 * 144);
    EXPECT_GT(payload->written_bytes, 0);
    EXPECT_DOUBLE_EQ(payload->register_writes, 31e6 / 8);
    ASSERT_TRUE(p.pcie.facts.link);
    EXPECT_EQ(pcie::to_string(*p.pcie.facts.link), "gen3x8");
    test::sysfs_tree tree(test::source_path("tests/data/pmu/icelakex.tree"));
    counters_choice chosen = recorded();
    chosen.sysfs = tree.root().string();
    const auto measured = [&chosen] {
        machine_counters m(chosen);
        m.begin();
        (void)m.of_port(port_that_did(0), "0000:3b:00.0", 0);
        return m.of_port(port_that_did(31'000'000), "0000:3b:00.0", 2);
    };
    const std::string root_device = "devices/pci0000:3a/0000:3a:05.0";
    tree.put(root_device + "/class: 0x088000");
    tree.put("bus/pci/devices/0000:3a:05.0 -> ../../../" + root_device);
    EXPECT_TRUE(measured().payload) << "a device of the root bus";
    const std::string other = "devices/pci0000:3a/0000:3a:01.0/0000:3c:00.0";
    tree.put(other + "/class: 0x010802");
    tree.put("bus/pci/devices/0000:3c:00.0 -> ../../../" + other);
    const auto shared = measured();
    EXPECT_FALSE(shared.payload) << "an NVMe device on another link of the stack";
}

TEST(machine_counters, of_a_port_are_closed_with_it) {
    const test::sysfs_tree tree(test::source_path("tests/data/pmu/icelakex.tree"));
    counters_choice chosen = recorded();
    chosen.sysfs = tree.root().string();
    machine_counters m(chosen);
    m.begin();
    const auto received = [&] {
        return m.of_port(port_that_did(1000), "0000:3b:00.0", 2).rx_packets;
    };
    (void)m.of_port(port_that_did(0), "0000:3b:00.0", 0);
    EXPECT_EQ(received(), 1000U);
    m.keep_ports({port_that_did(1000)});
    EXPECT_EQ(received(), 1000U);
    m.keep_ports({});
    EXPECT_EQ(received(), 0U) << "opened again";
}

TEST(machine_counters, are_since_the_clear) {
    const test::sysfs_tree tree(test::source_path("tests/data/pmu/icelakex.tree"));
    counters_choice chosen = recorded();
    chosen.sysfs = tree.root().string();
    machine_counters m(chosen);
    m.begin();
    const auto read = [&](uint64_t packets, double s, bool since_clear) {
        return m.of_port(port_that_did(packets), "0000:3b:00.0", s, since_clear);
    };
    (void)read(0, 0, false);
    EXPECT_EQ(read(1000, 2, true).rx_packets, 1000U) << "nothing was cleared";
    m.clear_port(port_that_did(0).life);
    const auto cleared = read(1600, 5, true);
    EXPECT_EQ(cleared.rx_packets, 600U);
    EXPECT_DOUBLE_EQ(cleared.given.at("seconds"), 3);
    EXPECT_FALSE(cleared.what->value("rd_cur", cleared.given)) << "the recording has ended";
    const auto all = read(1600, 5, false);
    EXPECT_EQ(all.rx_packets, 1600U);
    EXPECT_TRUE(all.what->value("rd_cur", all.given));
    m.clear();
    EXPECT_EQ(read(1700, 6, true).rx_packets, 100U);
}

TEST(measured_bill, has_a_reason_for_every_line_that_it_lacks) {
    const std::string file = testing::TempDir() + "counts-" + std::to_string(getpid()) + ".yaml";
    std::ofstream(file) << "counters: {uncore_iio_2: {inbound_reads: 62000000}}\n";
    const auto p = billed("skylakex.tree", "0000:3b:00.0", {.recorded = file});
    std::filesystem::remove(file);
    ASSERT_FALSE(p.pcie.measured.empty()) << p.pcie.why.at("measured");
    const auto bill = nlohmann::json::parse(p.pcie.measured);
    EXPECT_DOUBLE_EQ(bill["per_packet"]["lines"]["rd_cur"].get<double>(), 2);
    EXPECT_TRUE(bill["per_packet"]["lines"]["itom"].is_null());
    EXPECT_EQ(bill["why"]["itom"], "this CPU's table has no such count");
    EXPECT_TRUE(bill["per_packet"]["lines"]["wil"].is_null());
    EXPECT_NE(bill["why"]["wil"].get<std::string>().find("uncore_iio_2/outbound_writes"),
              std::string::npos);
    EXPECT_FALSE(bill["over_modelled"]["lines"].contains("itom"));
}

TEST(measured_bill, that_is_not_there_says_why) {
    EXPECT_EQ(billed("icelakex.tree", "", recorded()).pcie.why.at("measured"),
              "the device is on no PCI bus: there is no PCIe root that could count for it");
    EXPECT_NE(billed("virtual.tree", "0000:01:00.0", {})
                  .pcie.why.at("measured")
                  .find("this kernel has no such PMU"),
              std::string::npos);
    EXPECT_EQ(billed("icelakex.tree", "0000:3b:00.0", {.off = true}).pcie.why.at("measured"),
              "they are off (--counters off)");
    EXPECT_NE(billed("icelakex.tree", "0000:3b:00.0", {.recorded = "/nowhere"})
                  .pcie.why.at("measured")
                  .find("/nowhere"),
              std::string::npos);
    EXPECT_NE(billed("icelakex.tree", "0000:99:00.0", recorded())
                  .pcie.why.at("measured")
                  .find("no such PCI device"),
              std::string::npos);
    observe::port_report p = port_that_did(1);
    machine_counters none({});
    EXPECT_EQ(none.of_port(p, "0000:3b:00.0", 1).why, "nothing has been forwarded yet");
}

}  // namespace
}  // namespace turnpike::control
