// SPDX-License-Identifier: BSD-3-Clause
// The plug-in under a forwarding loop, with EAL: the device's counts equal lib/pcie's model, and no
// buffer is lost over restarts.
#include "pcie/cost.hpp"
#include "peer/simnic_port.hpp"

namespace turnpike {
namespace {

using test::burst, test::ring;

std::map<std::string, double> named(const pcie::transactions_per_packet& t) {
    return {{"lines_rd_cur", t.lines.rd_cur}, {"lines_itom", t.lines.itom},
            {"lines_rfo", t.lines.rfo},       {"lines_wil", t.lines.wil},
            {"lines_prd", t.lines.prd},       {"tlps_mrd", t.tlps.mrd},
            {"tlps_mwr", t.tlps.mwr},         {"tlps_cpld", t.tlps.cpld},
            {"bytes_up", t.bytes.up},         {"bytes_down", t.bytes.down}};
}

constexpr uint32_t largest = 9728;  // FCS included: max_mtu and its header

using cell = std::tuple<const char*, uint32_t>;
class bill : public ::testing::TestWithParam<cell> {};

TEST_P(bill, counted_is_modelled_within_1_percent) {
    const auto& [profile, frame_bytes] = GetParam();
    const double packets = 200 * ring;
    std::map<std::string, double> counted;
    {
        test::port b({.arguments = "wire=gen,profile=" + std::string(profile) +
                                   ",size=" + std::to_string(frame_bytes),
                      .mtu = static_cast<uint16_t>(std::max(1500u, frame_bytes - 18))});
        b.hold_buffers_across_pages(frame_bytes);
        b.start();
        b.forward(10 * ring);
        auto before = b.xstats();
        b.forward(static_cast<uint64_t>(packets));
        counted = b.xstats();
        for (auto& [name, value] : counted) value -= before[name];
        b.stop();
        for (const char* bad : {"gen_lost", "gen_duplicated", "gen_reordered", "gen_damaged",
                                "fault_translation", "fault_descriptor", "fault_tail"})
            EXPECT_EQ(counted[bad], 0) << bad;
    }
    // A device that fetches full batches has not sent the last of them yet.
    ASSERT_NEAR(counted["tx_good_packets"], packets, 64);
    const auto profile_found = pcie::find_profile(profile);
    const auto modelled =
        pcie::cost(*profile_found, pcie::link{}, {.frames = {{frame_bytes}}, .burst = burst});
    ASSERT_TRUE(modelled.has_value());
    const pcie::direction_bill both = modelled->combined();
    for (const auto& [name, value] : named(both.total())) {
        const double per_packet = counted["pcie_" + name] / packets;
        EXPECT_NEAR(per_packet, value, 0.01 * value) << name;
    }
    // By purpose, a coarser net: a ring's end cuts some fetches and answers in two.
    for (size_t p = 0; p < both.by_purpose.size(); ++p)
        for (const auto& [name, value] : named(both.by_purpose[p])) {
            const std::string purpose(pcie::purpose_names[p]);
            const double per_packet = counted["pcie_" + purpose + "_" + name] / packets;
            EXPECT_NEAR(per_packet, value, 0.03 * value) << purpose << " " << name;
        }
}

INSTANTIATE_TEST_SUITE_P(
    all, bill,
    ::testing::Combine(::testing::Values("ixgbe", "i40e", "ice", "e1000", "igb", "niantic-dpdk"),
                       ::testing::Values(64u, 128u, 256u, 512u, 1024u, 1518u, largest)),
    [](const auto& p) {
        std::string name = std::get<0>(p.param) + ("_" + std::to_string(std::get<1>(p.param)));
        for (char& c : name)
            if (c == '-') c = '_';
        return name;
    });

class restart : public ::testing::TestWithParam<const char*> {};

/// A leak does not depend on the IOVA mode: a tenth of the restarts in VA mode, unless
/// TURNPIKE_LONG is set.
int restarts() {
    const char* const mode = std::getenv("SIMNIC_TEST_IOVA");
    const bool again = mode != nullptr && std::string_view(mode) == "--iova-mode=va";
    return again && std::getenv("TURNPIKE_LONG") == nullptr ? 100 : 1000;
}

TEST_P(restart, leaks_nothing) {
    test::port b({.arguments = GetParam()});
    for (int i = 0; i < restarts(); ++i) {
        b.start();
        b.forward(static_cast<uint64_t>(i) % 100);
        b.stop();
        ASSERT_EQ(rte_mempool_in_use_count(b.pool()), 0u) << "after restart " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(all, restart,
                         ::testing::Values("wire=gen", "wire=gen,engine=thread,profile=i40e",
                                           "wire=gen,profile=niantic-dpdk,size=64-1518"),
                         [](const auto& p) { return "device" + std::to_string(p.index); });

}  // namespace
}  // namespace turnpike
