// SPDX-License-Identifier: BSD-3-Clause
// Stage ip_fast sends the same packets as the slow path, byte for byte: bursts of good, bad and
// mutated frames go through the graph with it and without it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "../packet/frames.hpp"
#include "datapath/graph.hpp"
#include "lib/eal.hpp"
#include "lib/path_lab.hpp"
#include "lib/sanitized.hpp"

namespace turnpike::datapath {
namespace {

using namespace test;

/// The fate of a packet: the exit, the frame, and the drop reason.
struct end_case {
    std::string_view door{};
    byte_vector bytes{};
    egress out{};
    datapath::drop_reason drop = datapath::drop_reason::none;
    punt_reason punt = punt_reason::local;
    uint32_t nexthop = 0;
    packet::parsed parsed{};

    bool operator==(const end_case&) const = default;
};
std::array<end_case, burst_max>* endings = nullptr;

template <stage Door>
stage_mask run_door(context&, burst& b, packet_mask packets) noexcept {
    for_each(packets, [&](uint32_t i) {
        end_case& e = (*endings)[i];
        EXPECT_EQ(e.door, "") << "two doors";
        e = {.door = stage_table[static_cast<size_t>(Door)].name,
             .bytes = path_lab::bytes_of(b.packet[i])};
        if (Door != stage::drop) e.out = b.out[i];
        if (Door == stage::drop) e.drop = b.drop[i];
        if (Door == stage::punt) {
            e.punt = b.punt[i];
            e.nexthop = b.nexthop[i];
            e.parsed = b.parsed[i];
            if (e.punt == punt_reason::icmp_error) e.drop = b.drop[i];
        }
    });
    return 0;
}

/// The graph with its doors in the test's hands, with stage ip_fast or without.
auto table_with(bool fast) {
    auto table = stage_table;
    table[static_cast<size_t>(stage::tx)].run = run_door<stage::tx>;
    table[static_cast<size_t>(stage::punt)].run = run_door<stage::punt>;
    table[static_cast<size_t>(stage::fragment)].run = run_door<stage::fragment>;
    table[static_cast<size_t>(stage::drop)].run = run_door<stage::drop>;
    if (!fast)
        table[static_cast<size_t>(stage::ip_fast)].run = [](context&, burst& b,
                                                            packet_mask packets) noexcept {
            return enqueue(b, packets, stage::ip_input);
        };
    return table;
}

/// Neighbours that are known, alone and in groups, behind MTUs that differ, and every other kind of
/// next hop.
constexpr const char* router =
    "ports:\n"
    "  - {name: west, device: d0, addresses: [10.0.1.254/24, \"2001:db8:1::fe/64\"]}\n"
    "  - {name: east, device: d1, addresses: [10.0.2.254/24, \"2001:db8:2::fe/64\"]}\n"
    "  - {name: thin, device: d2, mtu: 1280, addresses: [10.0.3.254/24, \"2001:db8:3::fe/64\"]}\n"
    "routes: [{to: 10.9.0.0/16, via: 10.0.2.2},\n"
    "  {to: 10.9.128.0/17, via: [10.0.2.2, 10.0.3.2, 10.0.2.9]}, {to: 10.8.0.0/16, via: "
    "10.0.3.2},\n"
    "  {to: 10.7.0.0/16, via: 10.0.2.9}, {to: 10.6.0.0/16, type: blackhole},\n"
    "  {to: 169.0.0.0/8, via: 10.0.2.2}, {to: \"2001:db8:9::/48\", via: \"2001:db8:2::2\"},\n"
    "  {to: \"fd00::/8\", via: [\"2001:db8:2::2\", \"2001:db8:3::2\"]}, {to: \"64:ff9b::/96\", "
    "via: "
    "\"2001:db8:2::2\"},\n"
    "  {to: \"::/0\", via: \"2001:db8:2::2\"}]\n"
    "neighbours:\n  static:\n"
    "    - {address: 10.0.2.2, mac: \"02:00:00:00:00:0d\"}\n"
    "    - {address: 10.0.3.2, mac: \"02:00:00:00:00:0e\"}\n"
    "    - {address: \"2001:db8:2::2\", mac: \"02:00:00:00:00:0d\"}\n"
    "    - {address: \"2001:db8:3::2\", mac: \"02:00:00:00:00:0e\"}\n";

class ip_fast_stage : public ::testing::Test {
  protected:
    std::array<end_case, burst_max> through(bool fast, const std::vector<byte_vector>& frames) {
        const auto table = table_with(fast);
        std::array<end_case, burst_max> out;
        endings = &out;
        context c;
        c.snapshot = seen_ != nullptr ? seen_ : &lab_.snapshot();
        burst b;
        b.count = static_cast<uint32_t>(frames.size());
        for (uint32_t i = 0; i < b.count; ++i)
            b.packet[i] =
                (stripped_ >> i & 1) != 0 ? stripped(frames[i]) : lab_.packet_of(frames[i]);
        packet_mask taken = 0;
        dispatch(table, c, b, enqueue(b, all_of(b.count), stage::rx),
                 [&](size_t s, packet_mask packets) {
                     if (s == static_cast<size_t>(stage::ip_fast)) taken = packets;
                     if (s == static_cast<size_t>(stage::ip_input)) taken &= ~packets;
                 });
        if (fast) by_plain_ += static_cast<unsigned>(std::popcount(taken));
        for (uint32_t i = 0; i < b.count; ++i) rte_pktmbuf_free(b.packet[i]);
        return out;
    }
    void compare(const std::vector<byte_vector>& frames) {
        const auto with = through(true, frames), without = through(false, frames);
        for (size_t i = 0; i < frames.size(); ++i) {
            ASSERT_NE(without[i].door, "");
            ASSERT_EQ(with[i].door, without[i].door) << ::testing::PrintToString(frames[i]);
            ASSERT_EQ(with[i], without[i]) << ::testing::PrintToString(frames[i]);
        }
    }

    /// As a device hands over a tagged frame whose tag it strips.
    rte_mbuf* stripped(byte_vector frame) {
        if (frame.size() < 18 || frame[12] != 0x81 || frame[13] != 0) return lab_.packet_of(frame);
        const auto tci = load_be<uint16_t>(&frame[14]);
        frame.erase(frame.begin() + 12, frame.begin() + 16);
        rte_mbuf* const m = lab_.packet_of(frame);
        m->vlan_tci = tci;
        m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
        return m;
    }

    path_lab lab_{router};
    packet_mask stripped_ = 0;        ///< packets of a burst whose tags the device strips
    const snapshot* seen_ = nullptr;  ///< in place of the one that is published
    /// Bursts of 1 to 32. Answers how many frames that were.
    template <class Random>
    uint64_t compare_bursts(Random& random, uint64_t frames) {
        uint64_t seen = 0;
        while (seen < frames && !HasFatalFailure()) {
            std::vector<byte_vector> burst(1 + random.pick(32));
            for (byte_vector& f : burst) f = random.one();
            seen += burst.size();
            compare(burst);
        }
        return seen;
    }

    uint64_t by_plain_ = 0;
};

TEST_F(ip_fast_stage, agrees_on_every_fixture) {
    for (const frame_fixture& f : frame_fixtures())
        if (f.bytes.size() < 1900) compare({f.bytes});
}

const uint32_t v4_addresses[] = {0x0a000102, 0x0a0001fe, 0x0a0001ff, 0x0a000202, 0x0a000209,
                                 0x0a0002ff, 0x0a090001, 0x0a080001, 0x0a070001, 0x0a060001,
                                 0x0b000001, 0x00000001, 0x7f000001, 0xa9fe0001, 0xa9000001,
                                 0xa9ff0001, 0xe0000001, 0xf0000001, 0xffffffff, 0x0a0003fe};
const char* const v6_addresses[] = {
    "2001:db8:1::2", "2001:db8:1::fe", "2001:db8:2::2",  "2001:db8:9::1",
    "fd00::1",       "fe80::1",        "ff02::1",        "::",
    "::1",           "64:ff9b::1",     "::ffff:1.2.3.4", "2001:db8:2::77",
    "3fff::1"};

class frames_at_random {
  public:
    /// one_way  IPv4, to one neighbour wherever it can be sent
    explicit frames_at_random(bool one_way = false) : one_way_(one_way) {}

    byte_vector one() {
        byte_vector out = one_way_ || pick(4) != 0 ? one_v4() : one_v6();
        if (pick(8) == 0) out = out + zeros(pick(30));  // padding
        if (pick(12) == 0)
            out[pick(std::min<uint32_t>(60, static_cast<uint32_t>(out.size())))] ^=
                static_cast<uint8_t>(1 << pick(8));
        if (pick(40) == 0) out.resize(pick(static_cast<uint32_t>(out.size())) + 1);
        return out;
    }
    uint32_t pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  private:
    /// True for one of sixteen: most packets are forwardable.
    bool rare() { return pick(16) == 0; }
    uint8_t nexthops() {
        return rare() ? static_cast<uint8_t>(pick(3)) : static_cast<uint8_t>(2 + pick(254));
    }
    byte_vector payload() { return udp(counted(rare() ? 1200 + pick(400) : pick(40))); }
    /// A TCP header in place of the payload, sometimes truncated.
    byte_vector segment() {
        byte_vector out = tcp(static_cast<uint8_t>(random_()), counted(pick(20)));
        out[3] = static_cast<uint8_t>(pick(100));  // port
        if (rare()) out.resize(pick(20));
        return out;
    }
    byte_vector frame(uint16_t type, const byte_vector& packet) {
        byte_vector to = mac_b, from = mac_a;
        if (rare()) to = byte_vector(6, 0xff);
        if (rare()) to[pick(6)] ^= static_cast<uint8_t>(1 << pick(8));
        if (rare()) from[0] |= 1;
        return ethernet(type, packet, to, from);
    }
    byte_vector one_v4() {
        ipv4_fields f{.ttl = nexthops()};
        if (rare()) f.version = static_cast<uint8_t>(pick(16));
        if (rare()) f.options = zeros(4 * (1 + pick(10)));
        if (rare()) f.fragment = static_cast<uint16_t>(random_());
        if (rare()) f.protocol = static_cast<uint8_t>(random_());
        if (rare()) f.total_bytes = static_cast<uint16_t>(pick(100));
        if (rare()) f.checksum = static_cast<uint16_t>(random_());
        f.id = static_cast<uint16_t>(random_());  // every checksum comes by
        f.source = rare() ? v4_addresses[pick(std::size(v4_addresses))] : 0x0a000102 + pick(100);
        f.destination = !one_way_ && pick(3) == 0 ? v4_addresses[pick(std::size(v4_addresses))]
                                                  : 0x0a090000 + pick(one_way_ ? 32768 : 65536);
        if (pick(4) != 0) return frame(0x0800, ipv4(f, payload()));
        f.protocol = 6;
        return frame(0x0800, ipv4(f, segment()));
    }
    byte_vector address6(const char* usual) {
        const auto a = parse_address(rare() ? v6_addresses[pick(std::size(v6_addresses))] : usual);
        return {a->bytes.begin(), a->bytes.end()};
    }
    byte_vector one_v6() {
        ipv6_fields f{.hop_limit = nexthops()};
        if (rare()) f.version = static_cast<uint8_t>(pick(16));
        if (rare()) f.payload_bytes = static_cast<uint16_t>(pick(100));
        if (rare()) f.next_header = static_cast<uint8_t>(random_());
        f.source = address6("2001:db8:1::2");
        f.destination = address6(pick(2) == 0 ? "2001:db8:9::1" : "fd00::5");
        byte_vector inside = payload();
        if (rare()) {
            inside = icmp6(static_cast<uint8_t>(128 + pick(12)), 0, counted(28));
            f.next_header = 58;
        } else if (pick(4) == 0) {
            inside = segment();
            f.next_header = 6;
        }
        return frame(0x86dd, ipv6(f, inside));
    }
    const bool one_way_;
    std::mt19937_64 random_{20261122};
};

TEST_F(ip_fast_stage, agrees_on_bursts_at_random) {
    const char* long_form = std::getenv("TURNPIKE_LONG");
    const uint64_t frames = long_form != nullptr && *long_form == '1' ? 10'000'000
                            : sanitized                               ? 30'000
                                                                      : 300'000;
    frames_at_random random;
    const uint64_t seen = compare_bursts(random, frames);
    // The test would prove nothing if stage ip_fast took no packet, or all.
    EXPECT_GT(by_plain_, seen / 5);
    EXPECT_LT(by_plain_, seen / 2 + seen / 4);
}

/// Bursts with a single next hop, which is read once: defects of single packets give the same
/// results as in other bursts.
TEST_F(ip_fast_stage, agrees_on_bursts_of_one_way) {
    frames_at_random random(true);
    const uint64_t seen = compare_bursts(random, sanitized ? 10'000 : 100'000);
    EXPECT_GT(by_plain_, seen / 4);
    EXPECT_LT(by_plain_, seen - seen / 4);
}

/// Sources behind west, behind other ports, and without a route: by one path, by several, and by
/// none.
TEST_F(ip_fast_stage, agrees_on_sources_that_are_looked_up) {
    for (const char* how : {"strict", "loose"}) {
        std::string asked = router;
        const std::string west = "device: d0", all = "{to: \"::/0\", via: \"2001:db8:2::2\"}]";
        asked.replace(asked.find(west), west.size(), west + ", urpf: " + how);
        asked.replace(asked.find(all), all.size(),
                      "{to: 10.0.1.64/26, via: [10.0.2.2, 10.0.1.7]},\n"
                      "  {to: 10.0.1.32/27, via: [10.0.2.2, 10.0.3.2]},\n"
                      "  {to: 10.0.1.16/28, type: blackhole},\n"
                      "  {to: \"2001:db8:1::2/128\", via: \"2001:db8:2::2\"}]");
        auto applied = lab_.apply(asked);
        ASSERT_TRUE(applied) << applied.error().message();
        by_plain_ = 0;
        frames_at_random random;
        const uint64_t seen = compare_bursts(random, sanitized ? 3'000 : 30'000);
        EXPECT_GT(by_plain_, seen / 10);
        EXPECT_LT(by_plain_, seen / 2);
    }
}

/// Frames to any of them, several in one burst; and to none.
TEST_F(ip_fast_stage, answers_to_several_mac_addresses) {
    std::string more = router;
    const std::string west = "device: d0";
    more.replace(more.find(west), west.size(),
                 west + ", extra_macs: [\"00:00:5e:00:01:07\", \"00:00:5e:00:02:07\"]");
    auto applied = lab_.apply(more);
    ASSERT_TRUE(applied) << applied.error().message();
    const std::vector<byte_vector> to = {
        mac_b, {0, 0, 0x5e, 0, 1, 7}, {0, 0, 0x5e, 0, 2, 7}, {0, 0, 0x5e, 0, 1, 8}};
    const byte_vector v4 = ipv4({.destination = 0x0a090001}, udp(counted(20))),
                      v6 = ipv6({}, udp(counted(20)));
    for (uint32_t order = 0; order < 24; ++order) {
        std::vector<byte_vector> burst;
        for (uint32_t i = 0; i < 4; ++i) {
            burst.push_back(ethernet(0x0800, v4, to[(i + order) % 4]));
            burst.push_back(ethernet(0x86dd, v6, to[(i * 3 + order / 4) % 4]));
        }
        by_plain_ = 0;
        compare(burst);
        EXPECT_EQ(by_plain_, 6U) << order;
        const auto ends = through(true, burst);
        EXPECT_EQ(std::count_if(ends.begin(), ends.begin() + 8,
                                [](const end_case& e) {
                                    return e.drop == datapath::drop_reason::dst_mac_not_ours;
                                }),
                  2);
    }
}

/// Packets that leave by their ingress interface take the slow path, where it sends redirects.
TEST_F(ip_fast_stage, leaves_detours_to_others_where_they_are_told) {
    std::string configuration = router;
    const std::string west = "device: d0", route = "{to: 10.8.0.0/16, via: 10.0.3.2}";
    configuration.replace(configuration.find(route), route.size(),
                          "{to: 10.8.0.0/16, via: 10.0.1.9}");
    configuration += "    - {address: 10.0.1.9, mac: \"02:00:00:00:00:19\"}\n";
    for (const bool redirects : {false, true}) {
        std::string now = configuration;
        if (redirects) now.replace(now.find(west), west.size(), west + ", send_redirects: true");
        auto applied = lab_.apply(now);
        ASSERT_TRUE(applied) << applied.error().message();
        by_plain_ = 0;
        compare({ethernet(0x0800, ipv4({.destination = 0x0a080001}, udp(counted(20)))),
                 ethernet(0x0800, ipv4({.destination = 0x0a090001}, udp(counted(20))))});
        EXPECT_EQ(by_plain_, redirects ? 1U : 2U);
    }
}

/// A packet with a router alert and a foreign destination is punted to the kernel where configured;
/// otherwise the option is ignored.
TEST_F(ip_fast_stage, router_alert_is_punted_by_choice) {
    const byte_vector alert{148, 4, 0, 0};
    const auto v4 = [&](uint32_t to, const byte_vector& options) {
        return ethernet(0x0800, ipv4({.destination = to, .options = options}, udp(counted(20))));
    };
    const auto six = *parse_address("2001:db8:9::1");
    const std::vector<byte_vector> frames = {
        v4(0x0a090001, alert),
        v4(0x0a090001, {1, 1, 1, 0}),
        v4(0x0a090001, {}),
        ethernet(0x86dd,
                 ipv6({.next_header = 0, .destination = {six.bytes.begin(), six.bytes.end()}},
                      byte_vector{17, 0, 5, 2, 0, 0, 1, 0} + udp(counted(20)))),
        v4(0x0a0001fe, alert),
        v4(0x0a060001, alert)};
    snapshot chosen = lab_.snapshot();
    interface& west = chosen.interfaces[chosen.port[0].untagged];
    for (const bool urpf : {false, true}) {
        west.urpf = urpf;
        if (urpf) chosen.paths[west.ifindex].input |= bit(stage::urpf);
        for (const bool asked : {false, true}) {
            west.router_alert = asked;
            seen_ = &chosen;
            compare(frames);
            const auto ends = through(true, frames);
            for (const size_t i : std::array<size_t, 2>{0, 3}) {
                EXPECT_EQ(ends[i].door, asked ? "punt" : "tx") << i;
                EXPECT_TRUE(!asked || ends[i].punt == punt_reason::router_alert) << i;
            }
            for (const size_t i : std::array<size_t, 2>{1, 2}) EXPECT_EQ(ends[i].door, "tx") << i;
            EXPECT_EQ(ends[4].punt, punt_reason::local) << "to us";
            EXPECT_EQ(ends[5].door, asked ? "punt" : "drop") << "the observer decides about it";
        }
    }
    // A forged source (uRPF) is dropped before.
    const auto forged = ethernet(
        0x0800, ipv4({.source = 0x0b000001, .destination = 0x0a090001, .options = alert}, udp({})));
    EXPECT_EQ(through(true, {forged})[0].drop, datapath::drop_reason::urpf);
    seen_ = nullptr;
}

/// Packets of exactly the egress MTU, and a byte longer.
TEST_F(ip_fast_stage, knows_the_mtu_to_the_byte) {
    for (const size_t bytes : {1280, 1281, 1500, 1501})
        for (const uint32_t to : {0x0a080001U, 0x0a090001U}) {
            by_plain_ = 0;
            compare({ethernet(0x0800, ipv4({.destination = to}, counted(bytes - 20)))});
            EXPECT_EQ(by_plain_, bytes <= (to == 0x0a080001 ? 1280 : 1500) ? 1U : 0U) << bytes;
        }
}

/// In a burst with one next hop, and in one with two, only packets that exceed the MTU leave the
/// fast path.
TEST_F(ip_fast_stage, knows_the_mtu_of_each_packet_of_a_burst) {
    const auto frame = [](uint32_t to, size_t bytes) {
        return ethernet(0x0800, ipv4({.destination = to}, counted(bytes - 20)));
    };
    std::vector<byte_vector> one_way, two_ways;
    for (uint32_t i = 0; i < 32; ++i) {
        one_way.push_back(frame(0x0a080001 + i, 1276 + i % 8));
        two_ways.push_back(frame((i % 2 == 0 ? 0x0a080001 : 0x0a090001) + i, 1276 + i % 8));
    }
    compare(one_way);
    EXPECT_EQ(by_plain_, 32U * 5 / 8);
    by_plain_ = 0;
    compare(two_ways);
    EXPECT_EQ(by_plain_, 16U + 16 * 3 / 4);
}

TEST_F(ip_fast_stage, leaves_packets_in_several_buffers_alone) {
    const byte_vector whole = ethernet(0x0800, ipv4({.destination = 0x0a090001}, counted(100)));
    context c;
    c.snapshot = &lab_.snapshot();
    burst b;
    b.begin(3, 0);
    b.packet[0] = lab_.packet_of(whole);
    b.packet[1] = lab_.packet_of({whole.begin(), whole.begin() + 60});
    ASSERT_EQ(rte_pktmbuf_chain(b.packet[1], lab_.packet_of({whole.begin() + 60, whole.end()})), 0);
    b.packet[2] = lab_.packet_of(whole);  // only its padding is in another
    ASSERT_EQ(rte_pktmbuf_chain(b.packet[2], lab_.packet_of(zeros(20))), 0);
    EXPECT_EQ(run_rx(c, b, 7), bit(stage::iface_input));
    EXPECT_EQ(run_iface_input(c, b, 7), bit(stage::ip_fast));
    EXPECT_EQ(run_ip_fast(c, b, 7), bit(stage::tx) | bit(stage::ip_input));
    EXPECT_EQ(b.at[static_cast<size_t>(stage::tx)], 1U);
    EXPECT_EQ(b.at[static_cast<size_t>(stage::ip_input)], 6U);
    for (uint32_t i = 0; i < 3; ++i) rte_pktmbuf_free(b.packet[i]);
}

/// A frame without an interface, or without data, does not change the verdicts of the rest of its
/// burst.
TEST_F(ip_fast_stage, takes_a_burst_of_one_vlan_with_a_stranger_in_it) {
    ASSERT_TRUE(lab_.apply(std::string(router) +
                           "interfaces: [{port: west, vlan: 100, addresses: [10.0.4.254/24]}]\n"));
    const byte_vector good = ethernet(0x0800, ipv4({.destination = 0x0a090001}, udp(counted(20))));
    for (const byte_vector& stranger :
         {tagged(good, 7), tagged(good, 4095), tagged(good, 100), zeros(9)})
        for (const size_t at : {0, 16, 31}) {
            std::vector<byte_vector> burst(32, tagged(good, 100));
            burst[at] = stranger;
            by_plain_ = 0;
            compare(burst);
            EXPECT_EQ(by_plain_, stranger == tagged(good, 100) ? 32U : 31U) << at;
        }
    compare({tagged(good, 7), tagged(good, 8)});
    compare({tagged(good, 7), good, tagged(good, 100), zeros(9)});
}

/// Interfaces alike, of another VRF, with reverse path checks, and with several MAC addresses; both families; egress
/// interfaces with a tag and without.
TEST_F(ip_fast_stage, agrees_on_bursts_of_several_vlans) {
    std::string vlans = router;
    const std::string first = "routes: [", neighbours = "neighbours:\n  static:\n";
    vlans.replace(vlans.find(first), first.size(),
                  "vrfs: [{name: red}]\n"
                  "interfaces:\n"
                  "  - {port: west, vlan: 100, addresses: [10.0.4.254/24]}\n"
                  "  - {port: west, vlan: 101, addresses: [10.0.5.254/24]}\n"
                  "  - {port: west, vlan: 102, addresses: [10.0.6.254/24], urpf: loose}\n"
                  "  - {port: west, vlan: 103, addresses: [10.0.7.254/24], extra_macs: "
                  "[\"00:00:5e:00:01:07\"]}\n"
                  "  - {port: west, vlan: 104, vrf: red, addresses: [10.0.8.254/24]}\n"
                  "  - {port: east, vlan: 7, addresses: [10.1.7.254/24, \"2001:db8:17::fe/64\"]}\n"
                  "  - {port: thin, vlan: 8, vrf: red, addresses: [10.1.8.254/24]}\n"
                  "routes: [{to: 10.9.32.0/19, via: 10.1.7.2}, {to: \"fd00::/16\", via: "
                  "\"2001:db8:17::2\"},\n"
                  "  {to: 10.9.0.0/16, via: 10.1.8.2, vrf: red}, ");
    vlans.replace(vlans.find(neighbours), neighbours.size(),
                  neighbours +
                      "    - {address: 10.1.7.2, mac: \"02:00:00:00:00:17\"}\n"
                      "    - {address: \"2001:db8:17::2\", mac: \"02:00:00:00:00:17\"}\n"
                      "    - {address: 10.1.8.2, port: thin.8, mac: \"02:00:00:00:00:18\"}\n");
    auto applied = lab_.apply(vlans);
    ASSERT_TRUE(applied) << applied.error().message();
    frames_at_random random;
    uint64_t seen = 0;
    std::array<uint64_t, 2> sent{};  // without a tag, and with one
    while (seen < (sanitized ? 6'000 : 60'000) && !HasFatalFailure()) {
        std::vector<byte_vector> burst(1 + random.pick(32));
        const uint32_t several = 1 + random.pick(6);
        for (byte_vector& f : burst) {
            f = random.one();
            const uint32_t vlan = random.pick(several);
            if (vlan == 3 && random.pick(2) == 0 && f.size() >= 6)
                std::ranges::copy(byte_vector{0, 0, 0x5e, 0, 1, 7}, f.begin());
            const auto tci = static_cast<uint16_t>(random.pick(8) << 13 | (100 + vlan));
            if (vlan != 5 && f.size() >= 14) f = tagged(f, tci);
        }
        const packet_mask some[] = {0, UINT32_MAX, random.pick(UINT32_MAX)};
        stripped_ = some[random.pick(3)];
        seen += burst.size();
        compare(burst);
        for (const end_case& e : through(true, burst))
            if (e.door == "tx") ++sent[e.bytes[12] == 0x81];
    }
    EXPECT_GT(by_plain_, seen / 4);
    EXPECT_GT(sent[0], seen / 10);
    EXPECT_GT(sent[1], seen / 10);
}

/// A frame without room for a tag takes the slow path, which drops it with a reason.
TEST_F(ip_fast_stage, leaves_frames_without_headroom_for_a_tag) {
    auto applied = lab_.apply(std::string(router) +
                              "    - {address: 10.1.7.2, mac: \"02:00:00:00:00:17\"}\n"
                              "interfaces: [{port: east, vlan: 7, addresses: [10.1.7.254/24]}]\n");
    ASSERT_TRUE(applied) << applied.error().message();
    const byte_vector to_vlan =
        ethernet(0x0800, ipv4({.destination = 0x0a010702}, udp(counted(20))));
    for (const uint16_t headroom : std::initializer_list<uint16_t>{0, 3, 4}) {
        context c;
        c.snapshot = &lab_.snapshot();
        burst b;
        b.begin(1, 0);
        b.packet[0] = lab_.packet_of(to_vlan);
        rte_mbuf* const m = b.packet[0];
        std::memmove(static_cast<uint8_t*>(m->buf_addr) + headroom, rte_pktmbuf_mtod(m, uint8_t*),
                     to_vlan.size());
        m->data_off = headroom;
        EXPECT_EQ(run_rx(c, b, 1), bit(stage::iface_input));
        EXPECT_EQ(run_iface_input(c, b, 1), bit(stage::ip_fast));
        EXPECT_EQ(run_ip_fast(c, b, 1), bit(headroom < 4 ? stage::ip_input : stage::tx));
        if (headroom == 4) {
            const byte_vector sent = path_lab::bytes_of(m);
            EXPECT_EQ(sent.size(), to_vlan.size() + 4);
            EXPECT_EQ(byte_vector(sent.begin() + 12, sent.begin() + 16),
                      (byte_vector{0x81, 0, 0, 7}));
        }
        rte_pktmbuf_free(m);
    }
}

/// Control is to know that a neighbour is in use (RFC 4861 section 7.3.3).
TEST_F(ip_fast_stage, marks_the_next_hop_as_used) {
    for (const char* to : {"10.9.0.1", "2001:db8:9::1"}) {
        const ip_address destination = *parse_address(to);
        next_hop& nexthop =
            lab_.snapshot().nexthops[lab_.controller().routing().routes().lookup(destination)];
        nexthop.used = false;
        if (destination.v6)
            through(true, {ethernet(0x86dd, ipv6({.destination = {destination.bytes.begin(),
                                                                  destination.bytes.end()}},
                                                 udp(counted(4))))});
        else
            through(true,
                    {ethernet(0x0800, ipv4({.destination = destination.v4()}, udp(counted(4))))});
        EXPECT_TRUE(nexthop.used) << to;
    }
    EXPECT_EQ(by_plain_, 2U);
    // Together with another next hop, which is marked as used.
    next_hop& nexthop =
        lab_.snapshot()
            .nexthops[lab_.controller().routing().routes().lookup(*parse_address("10.9.0.1"))];
    nexthop.used = false;
    const byte_vector payload = udp(counted(4));
    through(true, {ethernet(0x0800, ipv4({.destination = 0x0a080001}, payload)),
                   ethernet(0x0800, ipv4({.destination = 0x0a090001}, payload))});
    EXPECT_TRUE(nexthop.used);
}

/// Routes lead to a first group before workers have the snapshot that tells of it: nothing is lost
/// meanwhile.
TEST_F(ip_fast_stage, a_group_that_the_view_does_not_know_yet) {
    const byte_vector frame =
        ethernet(0x0800, ipv4({.destination = 0x0a09'8001}, udp(counted(20))));
    const end_case configuration = through(true, {frame})[0];
    snapshot before = lab_.snapshot();
    ASSERT_TRUE(before.groups);
    before.groups = false;
    seen_ = &before;
    EXPECT_TRUE(through(true, {frame})[0] == configuration) << configuration.door;
}

/// The slow path classifies by an egress list.
TEST_F(ip_fast_stage, leaves_what_a_list_judges_on_its_way_out) {
    const byte_vector good = ethernet(0x0800, ipv4({.destination = 0x0a090001}, udp(counted(20))));
    compare({good, good});
    EXPECT_EQ(by_plain_, 2U);
    by_plain_ = 0;
    std::string bound = std::string(router) + "acl: [{name: all, default: permit, rules: []}]\n";
    const std::string east = "device: d1";
    bound.replace(bound.find(east), east.size(), "device: d1, acl: {out: all}");
    ASSERT_TRUE(lab_.apply(bound));
    compare({good, ethernet(0x0800, ipv4({.destination = 0x0a080001}, udp(counted(20))))});
    EXPECT_EQ(by_plain_, 1U);
}

class ip_fast_with_list : public ip_fast_stage {
  protected:
    ip_fast_with_list() {
        apply(std::string(router) +
              "acl:\n  - name: in\n    default: permit\n    rules:\n"
              "      - {action: count, protocol: udp}\n"
              "      - {action: count, family: ipv6}\n"
              "      - {action: count, tcp_flags: \"+syn\", protocol: tcp}\n"
              "      - {action: deny, protocol: tcp, destination_ports: 0-30}\n"
              "      - {action: deny, protocol: tcp, tcp_flags: \"+fin +urg\"}\n"
              "      - {action: deny, source: 10.0.1.40/29}\n"
              "      - {action: deny, protocol: udp, fragments: true}\n"
              "      - {action: deny, protocol: udp, dscp: 0, source: 10.0.1.80/29}\n"
              "      - {action: permit, destination: \"fd00::/8\", protocol: udp,\n"
              "         destination_ports: 2222}\n"
              "      - {action: deny, destination: \"fd00::/8\", protocol: 6}\n");
    }
    /// Applies a configuration with list `in` bound to west.
    void apply(std::string bound) {
        const std::string west = "device: d0";
        bound.replace(bound.find(west), west.size(), "device: d0, acl: {in: in}");
        auto applied = lab_.apply(bound);
        if (!applied) ADD_FAILURE() << applied.error().message();
    }
    std::vector<uint64_t> counters() {
        std::vector<uint64_t> out;
        const auto lists = lab_.acls();
        for (const auto& rule : lists.at(0).rules) {
            out.push_back(rule.packets);
            out.push_back(rule.bytes);
        }
        return out;
    }
};

/// Stage ip_fast classifies by an ingress list: the same verdicts, and every rule counts the same
/// packets and bytes.
TEST_F(ip_fast_with_list, agrees_with_the_slow_path) {
    frames_at_random random;
    std::vector<uint64_t> with(counters().size()), without = with;
    uint64_t seen = 0, denied = 0;
    while (seen < (sanitized ? 10'000 : 100'000) && !HasFatalFailure()) {
        std::vector<byte_vector> burst(1 + random.pick(32));
        for (byte_vector& f : burst) f = random.one();
        seen += burst.size();
        const auto start = counters();
        const auto a = through(true, burst);
        const auto between = counters();
        const auto b = through(false, burst);
        const auto end = counters();
        for (size_t i = 0; i < burst.size(); ++i) {
            ASSERT_EQ(a[i], b[i]) << ::testing::PrintToString(burst[i]);
            denied += a[i].drop == datapath::drop_reason::acl_deny;
        }
        for (size_t r = 0; r < with.size(); ++r) {
            with[r] += between[r] - start[r];
            without[r] += end[r] - between[r];
        }
        ASSERT_EQ(with, without);
    }
    for (size_t r = 0; r < with.size(); r += 2)
        EXPECT_GT(with[r], 0U) << "nothing came by rule " << r / 2;
    EXPECT_GT(by_plain_, seen / 5);
    EXPECT_GT(denied, seen / 50);
}

/// On VLAN interfaces: alone, in a burst of the same VLAN and in one of several, each packet has
/// the same fate as without stage ip_fast.
TEST_F(ip_fast_with_list, matches_the_same_vlan_in_all_company) {
    apply(std::string(router) +
          "interfaces:\n"
          "  - {port: west, vlan: 100, addresses: [10.0.4.254/24], acl: {in: in}}\n"
          "  - {port: west, vlan: 200, addresses: [10.0.5.254/24], acl: {in: in}}\n"
          "acl:\n  - name: in\n    default: permit\n    rules:\n"
          "      - {action: deny, protocol: udp, vlan: 100}\n"
          "      - {action: deny, protocol: tcp, vlan: untagged}\n"
          "      - {action: deny, family: ipv6, vlan: 200}\n"
          "      - {action: deny, family: ipv4, vlan: 0}\n");
    frames_at_random random;
    const auto one = [&](uint32_t kind) {
        const byte_vector frame = random.one();
        constexpr uint16_t tci[] = {0, 0xe000, 0x2064, 200};
        return kind == 0 || frame.size() < 14 ? frame : tagged(frame, tci[kind]);
    };
    uint64_t seen = 0, denied = 0;
    while (seen < (sanitized ? 3'000 : 30'000) && !HasFatalFailure()) {
        std::vector<byte_vector> burst(1 + random.pick(32));
        const uint32_t usual = random.pick(4);
        const bool mixed = random.pick(2) == 0;
        for (byte_vector& f : burst) f = one(mixed ? random.pick(4) : usual);
        seen += burst.size();
        compare(burst);
        const auto together = through(true, burst);
        for (size_t i = 0; i < burst.size(); ++i) {
            ASSERT_EQ(through(true, {burst[i]})[0], together[i])
                << ::testing::PrintToString(burst[i]);
            denied += together[i].drop == datapath::drop_reason::acl_deny;
        }
    }
    EXPECT_GT(by_plain_, seen / 4);
    EXPECT_GT(denied, seen / 20);
}

}  // namespace
}  // namespace turnpike::datapath
