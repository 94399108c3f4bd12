// SPDX-License-Identifier: BSD-3-Clause
// Generated frames are right by the packet library's own checksum, and returned frames are counted
// by the exact fault injected.
#include "wire/generator.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "engine/classify.hpp"
#include "packet/headers.hpp"
#include "unit/simnic/wires.hpp"

namespace turnpike::simnic {
namespace {

using test::count, test::frame, test::inject, test::next_frame;
constexpr packet::mac_address port_mac{{2, 0, 0, 0, 0, 9}};

struct kind {
    const char* name;
    traffic t;
};

class generated : public ::testing::TestWithParam<kind> {};

TEST_P(generated, frames_are_whole_and_come_back_clean) {
    generator g(GetParam().t, pace(), 3, port_mac);
    const traffic& t = GetParam().t;
    for (uint32_t i = 0; i < 5000; ++i) {
        const frame f = next_frame(g);
        ASSERT_GE(f.size() + 4, least_generated_bytes(t.ipv6));
        const frame_class c = classify(f.data(), static_cast<uint32_t>(f.size()));
        ASSERT_EQ(c.end, f.size()) << "no padding";
        ASSERT_EQ(c.ptype & 0xf00, ptype_l4_udp);
        const uint32_t verdict = verify_checksums(c, f.data());
        ASSERT_EQ(verdict, t.ipv6 ? uint32_t{rx_l4_good} : rx_ip_good | rx_l4_good) << i;
        inject(g, f);
    }
    EXPECT_EQ(count(g, "gen_sent"), 5000u);
    EXPECT_EQ(count(g, "gen_received"), 5000u);
    EXPECT_EQ(count(g, "gen_ttl_kept"), 5000u);
    for (const char* bad :
         {"gen_lost", "gen_duplicated", "gen_reordered", "gen_damaged", "gen_foreign"})
        EXPECT_EQ(count(g, bad), 0u) << bad;
}

INSTANTIATE_TEST_SUITE_P(
    all, generated,
    ::testing::Values(
        kind{"small_ipv4", {}}, kind{"by_mac", {.l2_flows = 3125}},
        kind{"range", {.smallest = 64, .largest = 1518}},
        kind{"imix", {.size = traffic::sizes::imix}},
        kind{"jumbo", {.smallest = 9732, .largest = 9732}},
        kind{"ipv6", {.ipv6 = true, .smallest = 84, .largest = 1281}},
        kind{"tagged", {.vlan = 100}},
        kind{"tagged_ipv6", {.ipv6 = true, .smallest = 84, .largest = 85, .vlan = 4094}},
        kind{"tagged_imix", {.zipf = true, .size = traffic::sizes::imix, .vlan = 1}},
        kind{"ipv6_by_mac", {.l2_flows = 70'000, .ipv6 = true, .smallest = 84, .largest = 85}}),
    [](const auto& p) { return std::string(p.param.name); });

TEST(generator, counts_both_addresses_pairwise) {
    generator g({.l3_flows = 62500}, pace(), 0, port_mac);
    std::set<std::pair<uint32_t, uint32_t>> flows;
    for (uint32_t i = 0; i < 62500; ++i) {
        const frame f = next_frame(g);
        const auto src = load_be<uint32_t>(&f[26]), dst = load_be<uint32_t>(&f[30]);
        ASSERT_EQ(src, 0xc612'0000 + i);
        ASSERT_EQ(dst, 0xc613'0000 + i);
        flows.emplace(src, dst);
    }
    EXPECT_EQ(flows.size(), 62500u);
    EXPECT_EQ(load_be<uint32_t>(&next_frame(g)[26]), 0xc612'0000u) << "and from the start again";
}

TEST(generator, l2_flows_count_mac_addresses) {
    generator g({.l2_flows = 3125}, pace(), 0, port_mac);
    std::set<std::vector<uint8_t>> flows;
    for (uint32_t i = 0; i < 2 * 3125; ++i) {
        const frame f = next_frame(g);
        flows.emplace(f.begin(), f.begin() + 12);
        EXPECT_EQ(load_be<uint16_t>(&f[4]), i % 3125);
        EXPECT_EQ(load_be<uint16_t>(&f[10]), i % 3125);
    }
    EXPECT_EQ(flows.size(), 3125u);
}

/// A VLAN tag is added: the frame is otherwise the same, four bytes longer.
TEST(generator, tags_frames) {
    generator tagged({.l2_flows = 3, .vlan = 0xabc}, pace(), 0, port_mac),
        plain({.l2_flows = 3}, pace(), 0, port_mac);
    for (uint32_t i = 0; i < 10; ++i) {
        frame f = next_frame(tagged);
        EXPECT_EQ(load_be<uint32_t>(&f[12]), 0x8100'0abcu);
        f.erase(f.begin() + 12, f.begin() + 16);
        EXPECT_EQ(f, next_frame(plain));
    }
}

TEST(generator, l2_flows_share_peers) {
    generator g({.l2_flows = 100'000, .l2_peers = 7}, pace(), 0, port_mac);
    for (uint32_t i = 0; i < 100'003; ++i) {
        const frame f = next_frame(g);
        ASSERT_EQ(load_be<uint16_t>(&f[4]), i % 100'000 % 7);
        ASSERT_EQ(f[9] << 16 | load_be<uint16_t>(&f[10]), i % 100'000);
    }
}

/// Each once, and then as often as Zipf has it: the first hundred as often as the next ten thousand.
TEST(generator, draws_flows) {
    constexpr uint32_t flows = 1'000'000, drawn = 200'000;
    generator g({.l3_flows = flows, .zipf = true}, pace(), 0, port_mac);
    const auto next = [&] { return load_be<uint32_t>(&next_frame(g)[26]) - 0xc612'0000; };
    for (uint32_t i = 0; i < flows; ++i) ASSERT_EQ(next(), i);
    uint32_t first = 0, hundred = 0, ten_thousand = 0;
    for (uint32_t i = 0; i < drawn; ++i) {
        const uint32_t n = next();
        ASSERT_LT(n, flows);
        first += n == 0;
        hundred += n < 100;
        ten_thousand += n >= 100 && n < 10'000;
    }
    // ln(n) / ln(1,000,000) of all are below n.
    EXPECT_NEAR(first, drawn * 0.050, drawn * 0.005);
    EXPECT_NEAR(hundred, drawn * 0.334, drawn * 0.01);
    EXPECT_NEAR(ten_thousand, drawn * 0.333, drawn * 0.01);
}

TEST(generator, sends_imix_in_its_proportion) {
    generator g({.size = traffic::sizes::imix}, pace(), 0, port_mac);
    std::map<size_t, int> sizes;
    for (int i = 0; i < 120; ++i) ++sizes[next_frame(g).size() + 4];
    EXPECT_EQ(sizes, (std::map<size_t, int>{{64, 70}, {570, 40}, {1518, 10}}));
}

TEST(generator, keeps_its_rate_and_drops_what_cannot_wait) {
    generator g({}, pace(0, 100), 0, port_mac);  // a frame per 100 cycles
    EXPECT_FALSE(next_frame(g, 0).empty());
    EXPECT_TRUE(next_frame(g, 99).empty());
    EXPECT_FALSE(next_frame(g, 100).empty());
    EXPECT_EQ(g.skip_due(1000), 9u);
    EXPECT_EQ(count(g, "gen_sent"), 11u);
    g.resume(5000);
    EXPECT_FALSE(next_frame(g, 5000).empty());
    EXPECT_TRUE(next_frame(g, 5000).empty()) << "no backlog from before";
}

/// Sends a frame with its TTL one less, as a router does.
void route(generator& g, frame f) {
    auto& ip = *reinterpret_cast<packet::ipv4_header*>(&f[14]);
    ip.ttl = static_cast<uint8_t>(ip.ttl - 1);
    uint32_t sum = static_cast<uint16_t>(~uint16_t{ip.checksum}) - 0x100u;
    sum = (sum & 0xffff) + (sum >> 31);
    ip.checksum = static_cast<uint16_t>(~static_cast<uint16_t>(sum - (sum >> 16)));
    inject(g, f);
}

TEST(checker, tells_what_happened_to_each_frame) {
    generator g({.smallest = 128, .largest = 128}, pace(), 1, port_mac);
    std::vector<frame> f;
    for (int i = 0; i < 20; ++i) f.push_back(next_frame(g));
    const auto send = [&g](const frame& one) { inject(g, one); };
    send(f[0]);
    route(g, f[1]);
    send(f[3]);  // 2 is passed over
    EXPECT_EQ(count(g, "gen_lost"), 1u);
    send(f[2]);  // and comes late
    EXPECT_EQ(count(g, "gen_lost"), 0u);
    EXPECT_EQ(count(g, "gen_reordered"), 1u);
    send(f[3]);
    send(f[2]);
    EXPECT_EQ(count(g, "gen_duplicated"), 2u);
    EXPECT_EQ(count(g, "gen_ttl_decremented"), 1u);

    uint64_t damaged = 0;
    for (const size_t at : {22u /* TTL */, 24u /* IP checksum */, 26u, 45u, 100u, 123u}) {
        frame hurt = f[4];
        hurt[at] = static_cast<uint8_t>(hurt[at] ^ 0x40);
        send(hurt);
        EXPECT_EQ(count(g, "gen_damaged") + count(g, "gen_foreign"), ++damaged) << "byte " << at;
    }
    EXPECT_EQ(count(g, "gen_foreign"), 1u) << "byte 45 is the stamp's magic";

    send(f[10]);
    EXPECT_EQ(count(g, "gen_lost"), 6u);
    const frame stranger(60, 0x11);
    send(stranger);
    EXPECT_EQ(count(g, "gen_foreign"), 2u);
    EXPECT_EQ(count(g, "gen_received"), 7u) << "0, 1, 3, 2, 3, 2, 10";
}

TEST(checker, survives_any_bytes) {
    checker c;
    uint64_t x = 88172645463325252u;
    const auto random = [&x] {
        x ^= x << 13;
        x ^= x >> 7;
        return x ^= x << 17;
    };
    generator g({.smallest = 128, .largest = 128}, pace(), 1, port_mac);
    for (int i = 0; i < 200'000; ++i) {
        frame f = next_frame(g);
        f.resize(random() % (f.size() + 1));
        for (uint64_t n = random() % 4; n > 0 && !f.empty(); --n)
            f[random() % f.size()] = static_cast<uint8_t>(random());
        const frame exact(f);  // ASan sees a read beyond
        c.frame(exact.data(), static_cast<uint32_t>(exact.size()));
    }
    EXPECT_EQ(c.received.read() + c.damaged.read() + c.foreign.read(), 200'000u);
}

}  // namespace
}  // namespace turnpike::simnic
