// SPDX-License-Identifier: BSD-3-Clause
// The bill against the oracle of the SIGCOMM 2018 paper and the numbers of Intel's 2017 paper.
#include "pcie/cost.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/source_tree.hpp"
#include "pcie/json.hpp"
#include "pcie/profile_yaml.hpp"
#include "unit/pcie/csv.hpp"

namespace turnpike::pcie {
namespace {

constexpr link gen3x8{};

bill must_cost(const nic_profile& profile, const load& carried, const link& l = gen3x8,
               published_slip slip = published_slip::corrected) {
    const auto priced = cost(profile, l, carried, slip);
    if (!priced) throw std::runtime_error(priced.error().message());
    return *priced;
}

load frames_of(uint32_t frame_bytes, double burst = 32) { return {{{frame_bytes}}, burst}; }

nic_profile l3fwd_2017() {
    const auto loaded = load_profiles(test::source_path("examples/pcie-profile/l3fwd-2017.yaml"));
    if (!loaded) throw std::runtime_error(loaded.error().message());
    return loaded->at(0);
}

void expect_figure_1(const std::filesystem::path& oracle, published_slip slip) {
    const auto rows = test::read_csv(oracle);
    ASSERT_EQ(rows.size(), 1437U);
    for (const auto& row : rows)
        for (const auto& [column, name] : {std::pair{"simple", "simple"},
                                           {"kernel", "niantic-kernel"},
                                           {"dpdk", "niantic-dpdk"}}) {
            const auto frame = static_cast<uint32_t>(std::stoul(row.at("frame_bytes")));
            const bill b = must_cost(*find_profile(name), frames_of(frame), gen3x8, slip);
            const auto oracle_gbps = [&, c = column](const char* which) {
                return std::stod(row.at(c + std::string(which)));
            };
            ASSERT_NEAR(achievable(b, traffic_direction::both).gbps, oracle_gbps("_bidir_gbps"),
                        1e-5)
                << name << " " << frame;
            ASSERT_NEAR(achievable(b, traffic_direction::tx).gbps, oracle_gbps("_txonly_gbps"),
                        1e-5)
                << name << " " << frame;
            ASSERT_NEAR(achievable(b, traffic_direction::rx).gbps, oracle_gbps("_rxonly_gbps"),
                        1e-5)
                << name << " " << frame;
        }
}

TEST(figure_1, equals_the_corrected_oracle) {
    TURNPIKE_SHARED_OR_SKIP(path, "data/pcie/fig1_gen3x8_mps256_mrrs512_rxdesc_mrd_fixed.csv");
    expect_figure_1(path, published_slip::corrected);
}

TEST(figure_1, with_its_slip_equals_the_published_code) {
    TURNPIKE_SHARED_OR_SKIP(path, "data/pcie/fig1_gen3x8_mps256_mrrs512_ascode.csv");
    expect_figure_1(path, published_slip::reproduced);
}

TEST(figure_1, wire_bytes_equal_the_published_code) {
    TURNPIKE_SHARED_OR_SKIP(path, "data/pcie/fig1_wire_bytes_per_packet_ascode.csv");
    for (const auto& row : test::read_csv(path))
        for (const auto& [column, name] : {std::pair{"simple", "simple"},
                                           {"kernel", "niantic-kernel"},
                                           {"dpdk", "niantic-dpdk"}}) {
            const auto frame = static_cast<uint32_t>(std::stoul(row.at("frame_bytes")));
            const bill b = must_cost(*find_profile(name), frames_of(frame), gen3x8,
                                     published_slip::reproduced);
            const auto oracle_bytes = [&, c = column](const char* which) {
                return std::stod(row.at(c + std::string(which)));
            };
            ASSERT_NEAR(b.tx.total().bytes.down, oracle_bytes("_tx_h2d_B"), 1e-6);
            ASSERT_NEAR(b.tx.total().bytes.up, oracle_bytes("_tx_d2h_B"), 1e-6);
            ASSERT_NEAR(b.rx.total().bytes.down, oracle_bytes("_rx_h2d_B"), 1e-6);
            ASSERT_NEAR(b.rx.total().bytes.up, oracle_bytes("_rx_d2h_B"), 1e-6);
        }
}

TEST(data_only, equals_the_effective_bandwidth_oracle) {
    TURNPIKE_SHARED_OR_SKIP(path, "data/pcie/pcie_bw_gen3x8_mps256_mrrs512.csv");
    const auto rows = test::read_csv(path);
    ASSERT_EQ(rows.size(), 1500U);
    for (const auto& row : rows) {
        const auto payload = static_cast<uint32_t>(std::stoul(row.at("payload_bytes")));
        const bill b = must_cost(*find_profile("data-only"), frames_of(payload + 4));
        ASSERT_NEAR(achievable(b, traffic_direction::rx).gbps, std::stod(row.at("mwr_gbps")), 1e-5);
        ASSERT_NEAR(achievable(b, traffic_direction::tx).gbps, std::stod(row.at("mrd_gbps")), 1e-5);
        ASSERT_NEAR(achievable(b, traffic_direction::both).gbps,
                    std::stod(row.at("mrd_mwr_simul_gbps")), 1e-5);
    }
}

// Intel 2017, table 16: raw PCIe data of forwarding at 10 Gb/s. Its D is the whole frame, although
// equation 24 leaves out the FCS, so both directions carry it here.
TEST(intel_2017, table_16) {
    nic_profile profile = l3fwd_2017();
    profile.tx.carries_fcs = true;
    struct row {
        uint32_t frame_bytes;
        double read_mbytes, write_mbytes;
    };
    for (const auto& expected :
         {row{64, 1429, 1205}, row{128, 1351, 1225}, row{200, 1318, 1233}, row{256, 1304, 1236},
          row{384, 1287, 1241}, row{512, 1278, 1243}, row{768, 1269, 1245}, row{1024, 1264, 1246},
          row{1280, 1262, 1247}, row{1518, 1260, 1248}}) {
        const bill b = must_cost(profile, frames_of(expected.frame_bytes));
        const double mpps = 10'000 / 8.0 / b.rx.wire_bytes;
        const auto total = b.combined().total();
        EXPECT_NEAR(total.dma.read * mpps, expected.read_mbytes, 1) << expected.frame_bytes;
        EXPECT_NEAR(total.dma.written * mpps, expected.write_mbytes, 1) << expected.frame_bytes;
    }
}

// Intel 2017, section 8.5: 29.8 Mpps gave 45 M, 33 M, 8.587 M and 1.891 M transactions a second.
TEST(intel_2017, l3fwd_as_measured) {
    const auto lines = must_cost(l3fwd_2017(), frames_of(64)).combined().total().lines;
    EXPECT_NEAR(lines.rd_cur, 1.51, 0.01 * 1.51);
    EXPECT_NEAR(lines.wil, 0.0635, 0.02 * 0.0635);
    EXPECT_NEAR(lines.itom, 1.107, 0.02 * 1.107);
    EXPECT_NEAR(lines.rfo, 0.288, 0.02 * 0.288);
    EXPECT_EQ(lines.prd, 0);
}

TEST(cost, purposes_add_up_to_the_total) {
    for (const auto& profile : builtin_profiles()) {
        const bill b = must_cost(profile, frames_of(594, 7.5));
        const auto combined = b.combined();
        const auto total = combined.total();
        double up = 0, down = 0;
        for (size_t i = 0; i < purpose_names.size(); ++i) {
            up += b.rx.by_purpose[i].bytes.up + b.tx.by_purpose[i].bytes.up;
            down += b.rx.by_purpose[i].bytes.down + b.tx.by_purpose[i].bytes.down;
        }
        EXPECT_NEAR(total.bytes.up, up, 1e-9) << profile.name;
        EXPECT_NEAR(total.bytes.down, down, 1e-9) << profile.name;
        // Every byte on the link is data, a register, a message, or a TLP's overhead.
        const double overhead = (total.tlps.mwr + total.tlps.mrd) * request_overhead_bytes(gen3x8) +
                                total.tlps.cpld * completion_overhead_bytes(gen3x8);
        const auto registers = combined[purpose::register_reads].tlps.cpld * 4 +
                               combined[purpose::interrupts].tlps.mwr * 4 +
                               b.rx[purpose::doorbells].tlps.mwr * profile.rx.doorbell.bytes +
                               b.tx[purpose::doorbells].tlps.mwr * profile.tx.doorbell.bytes;
        EXPECT_NEAR(up + down, overhead + total.dma.read + total.dma.written + registers, 1e-6)
            << profile.name;
    }
}

TEST(cost, monotonic_in_frame_size) {
    for (const auto& profile : builtin_profiles()) {
        double before_up = 0, before_down = 0, before_mpps = 1e9;
        for (uint32_t frame = 5; frame < 3'000; ++frame) {
            const bill b = must_cost(profile, frames_of(frame));
            const auto total = b.combined().total();
            ASSERT_GE(total.bytes.up, before_up) << profile.name << " " << frame;
            ASSERT_GE(total.bytes.down, before_down) << profile.name << " " << frame;
            const auto most = achievable(b, traffic_direction::both);
            ASSERT_LE(most.mpps, before_mpps + 1e-9) << profile.name << " " << frame;
            before_up = total.bytes.up;
            before_down = total.bytes.down;
            before_mpps = most.mpps;
        }
    }
}

TEST(cost, longer_bursts_never_cost_more_doorbells) {
    for (const auto& profile : builtin_profiles()) {
        double before = 1e9;
        for (const double burst : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0}) {
            const double rung =
                must_cost(profile, frames_of(64, burst)).combined()[purpose::doorbells].tlps.mwr;
            EXPECT_LE(rung, before) << profile.name << " burst " << burst;
            before = rung;
        }
    }
}

TEST(cost, doorbell_policies) {
    const auto rung = [](doorbell d, double burst) {
        nic_profile profile;
        profile.name = "test";
        profile.tx.doorbell = d;
        return must_cost(profile, frames_of(64, burst)).tx[purpose::doorbells].tlps.mwr;
    };
    using enum doorbell_policy;
    EXPECT_EQ(rung({none, 1, 4}, 32), 0);
    EXPECT_EQ(rung({every, 32, 4}, 5), 1 / 32.0);
    EXPECT_EQ(rung({per_burst, 0, 4}, 64), 1 / 64.0);
    EXPECT_EQ(rung({per_burst, 32, 4}, 64), 2 / 64.0);
    EXPECT_EQ(rung({per_burst, 32, 4}, 8), 1 / 8.0);
    EXPECT_EQ(rung({burst_end, 1, 4}, 16), 1 / 16.0);
    EXPECT_EQ(rung({burst_end, 33, 4}, 32), 1 / 64.0);
    EXPECT_EQ(rung({burst_end, 33, 4}, 10), 1 / 40.0);
}

/// Doorbells that QEMU counted of DPDK 22.11's drivers at its devices, where packets end with a
/// doorbell (doc/vm-observer.md).
TEST(cost, doorbells_are_those_that_qemu_counted) {
    struct count {
        const char* profile;
        double burst, packets, rx, tx;
    };
    for (const count& seen :
         {count{"e1000", 1, 132, 4, 132}, count{"e1000", 16, 144, 3, 9},
          count{"vmxnet3", 1, 132, 0, 132}, count{"vmxnet3", 32, 160, 0, 5},
          count{"virtio-qemu", 4, 132, 0, 33}, count{"virtio-qemu", 32, 160, 0, 5}}) {
        const bill b = must_cost(*find_profile(seen.profile), frames_of(64, seen.burst));
        EXPECT_DOUBLE_EQ(b.rx[purpose::doorbells].lines.wil * seen.packets, seen.rx)
            << seen.profile << ", bursts of " << seen.burst;
        EXPECT_DOUBLE_EQ(b.tx[purpose::doorbells].lines.wil * seen.packets, seen.tx)
            << seen.profile << ", bursts of " << seen.burst;
    }
}

TEST(cost, fetches_follow_what_was_posted) {
    nic_profile profile;
    profile.name = "test";
    profile.tx.fetch = {.bytes = 16, .batch = 32};
    profile.tx.doorbell = {.policy = doorbell_policy::per_burst, .packets = 0};
    const auto fetches = [&](double burst) {
        return must_cost(profile, frames_of(64, burst)).tx[purpose::tx_descriptor_fetch].tlps.mrd;
    };
    EXPECT_EQ(fetches(1), 1);
    EXPECT_EQ(fetches(4), 1 / 4.0);
    EXPECT_EQ(fetches(64), 1 / 32.0);
    EXPECT_NEAR(fetches(2.5), 1 / 2.5, 1e-12);
    profile.tx.fetch.policy = fetch_policy::full_batch;
    EXPECT_EQ(fetches(1), 1 / 32.0);
}

/// As its driver sets the device up: 8 compressed completions a line, 32 packets in a transmit entry.
TEST(cost, mlx5_compresses_completions_and_packs_packets) {
    const bill b = must_cost(*find_profile("mlx5"), frames_of(64, 32)),
               plain = must_cost(*find_profile("mlx5-plain"), frames_of(64, 32));
    EXPECT_DOUBLE_EQ(b.rx[purpose::rx_write_back].lines.itom, 1 / 8.0);
    EXPECT_DOUBLE_EQ(plain.rx[purpose::rx_write_back].lines.itom, 1);
    EXPECT_DOUBLE_EQ(b.tx[purpose::tx_descriptor_fetch].lines.rd_cur, 1 / 4.0);
    EXPECT_DOUBLE_EQ(plain.tx[purpose::tx_descriptor_fetch].lines.rd_cur, 1);
}

TEST(cost, prefix_ends_the_line_before_the_frame) {
    const bill b = must_cost(*find_profile("virtio"), frames_of(132));
    EXPECT_EQ(b.rx[purpose::rx_data].lines.itom, 2);
    EXPECT_EQ(b.rx[purpose::rx_data].lines.rfo, 1);
    EXPECT_EQ(b.tx[purpose::tx_data].lines.rd_cur, 3);
}

TEST(cost, a_mix_is_the_mean_of_its_frames) {
    const auto profile = *find_profile("ixgbe");
    const load mix{{{64, 7}, {594, 4}, {1518, 1}}, 32};
    double up = 0;
    for (const auto& share : mix.frames)
        up += share.weight / 12 *
              must_cost(profile, frames_of(share.frame_bytes)).combined().total().bytes.up;
    EXPECT_NEAR(must_cost(profile, mix).combined().total().bytes.up, up, 1e-9);
}

TEST(cost, directions_weigh_by_their_packets) {
    const bill b = *cost(*find_profile("ixgbe"), gen3x8, frames_of(64), frames_of(1518, 8));
    const auto rx_only = b.combined(1, 0).total();
    EXPECT_EQ(rx_only.lines.rd_cur, b.rx.total().lines.rd_cur);
    const auto both = b.combined(30, 10, 30).total();
    EXPECT_NEAR(both.bytes.up, b.rx.total().bytes.up + b.tx.total().bytes.up / 3, 1e-9);
}

TEST(cost, what_binds) {
    const bill b = must_cost(*find_profile("niantic-dpdk"), frames_of(64));
    EXPECT_EQ(achievable(b, traffic_direction::tx).binds, resource::link_down);
    EXPECT_EQ(achievable(b, traffic_direction::rx).binds, resource::link_up);
    const auto ten = achievable(b, traffic_direction::both, 10);
    EXPECT_EQ(ten.binds, resource::ethernet);
    EXPECT_NEAR(ten.mpps, 14.88, 0.01);
    EXPECT_NEAR(ten.gbps, ethernet_payload_gbps(10, 64), 1e-9);
    EXPECT_LT(ten.up_utilisation, 1);
    EXPECT_NEAR(achievable(b, traffic_direction::both).up_utilisation, 1, 1e-12);
}

TEST(cost, wrong_input_is_named) {
    const auto profile = *find_profile("ixgbe");
    const auto why = [&](const link& l, const load& carried) {
        const auto priced = cost(profile, l, carried);
        return priced ? std::string("accepted") : priced.error().message();
    };
    EXPECT_EQ(why({.mps = 100}, frames_of(64)),
              "link.mps: MPS is 128, 256, 512, 1024, 2048 or 4096 bytes, not 100");
    EXPECT_EQ(why({}, {}), "rx.frames: no frame size given");
    EXPECT_EQ(why({}, frames_of(4)),
              "rx.frames: a frame has 5 to 65535 bytes, FCS included, not 4");
    EXPECT_EQ(why({}, frames_of(64, 0)), "rx.burst: a burst has 1 to 65536 packets");
    EXPECT_EQ(why({}, frames_of(64, std::nan(""))), "rx.burst: a burst has 1 to 65536 packets");
    EXPECT_NE(why({}, {{{64, -1}}}).find("weight"), std::string::npos);
    EXPECT_NE(why({}, {{{64, 0}}}).find("weight above 0"), std::string::npos);
    nic_profile wrong = profile;
    wrong.tx.fetch.batch = 0;
    EXPECT_EQ(cost(wrong, {}, frames_of(64)).error().object, "tx.fetch.batch");
}

TEST(json, the_pcie_object) {
    const bill b = must_cost(*find_profile("ixgbe"), frames_of(64));
    const auto object = to_json(b);
    EXPECT_EQ(object.at("source"), "modelled");
    EXPECT_EQ(object.at("profile"), "ixgbe");
    EXPECT_EQ(object.at("link").at("gen"), 3);
    const auto& packet = object.at("per_packet");
    const auto total = b.combined().total();
    EXPECT_EQ(packet.at("lines").at("rd_cur"), total.lines.rd_cur);
    EXPECT_EQ(packet.at("tlps").at("mwr"), total.tlps.mwr);
    EXPECT_EQ(packet.at("bytes").at("up"), total.bytes.up);
    EXPECT_EQ(packet.size(), 4U);
    for (const auto name : purpose_names)
        EXPECT_EQ(packet.at("by_purpose").at(std::string(name)).size(), 3U) << name;
    EXPECT_GE(object.at("assumptions").size(), profile_for_driver("net_ixgbe")->assumptions.size());
    const auto flits = to_json(must_cost(*find_profile("ixgbe"), frames_of(64), {.gen = 6}));
    EXPECT_EQ(flits.at("link").at("approximate"), true);
    EXPECT_NE(flits.at("assumptions").back().get<std::string>().find("FLIT"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::pcie
