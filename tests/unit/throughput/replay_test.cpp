// SPDX-License-Identifier: BSD-3-Clause
// Captures of each kind of frame: valid checksums with a stamp, intact after a router, and every changed bit is noticed.
#include "replay.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "packet/checksum.hpp"
#include "packet/headers.hpp"
#include "packet/parse.hpp"
#include "traffic.hpp"

namespace turnpike::throughput {
namespace {

using octets = std::vector<uint8_t>;

octets operator+(octets a, const octets& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}
octets be16_of(size_t n) { return {static_cast<uint8_t>(n >> 8), static_cast<uint8_t>(n)}; }
octets data(size_t n) {
    octets out(n);
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(17 * i + 3);
    return out;
}

const octets macs{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 7};
octets ethernet(uint16_t type, const octets& rest) { return macs + be16_of(type) + rest; }
/// Checksums of zero: captures on a sender often have invalid ones.
octets ipv4(uint8_t protocol, const octets& rest, uint16_t fragment = 0) {
    return octets{0x45, 0} + be16_of(20 + rest.size()) + octets{0, 1} + be16_of(fragment) +
           octets{64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2} + rest;
}
octets ipv6(uint8_t next, const octets& rest) {
    octets a(32);
    a[0] = a[16] = 0x20;
    a[15] = 1;
    a[31] = 2;
    return octets{0x60, 0, 0, 0} + be16_of(rest.size()) + octets{next, 64} + a + rest;
}
octets udp(const octets& rest, uint16_t sum = 0x1234) {
    return octets{0, 53, 0, 99} + be16_of(8 + rest.size()) + be16_of(sum) + rest;
}
octets tcp(const octets& rest, const octets& options = {}) {
    return octets{0, 80, 0, 99, 0, 0, 0, 1, 0, 0, 0, 2} +
           octets{static_cast<uint8_t>((20 + options.size()) / 4 << 4), 0x10, 1, 0, 0, 0, 0, 0} +
           options + rest;
}
octets icmp(uint8_t type, const octets& rest) { return octets{type, 0, 0, 0, 0, 1, 0, 2} + rest; }

/// A pcap file that is removed with its folder.
class pcap_file {
  public:
    explicit pcap_file(const std::vector<octets>& frames, uint32_t lost = 0, uint32_t link = 1) {
        std::string name = std::filesystem::temp_directory_path() / "turnpike-replay-XXXXXX";
        folder_ = ::mkdtemp(name.data());
        std::ofstream out(path(), std::ios::binary);
        const auto word = [&out](uint32_t n) {
            out.write(reinterpret_cast<const char*>(&n), sizeof n);
        };
        for (const uint32_t n : {0xa1b2c3d4u, 0x0004'0002u, 0u, 0u, 65535u, link}) word(n);
        for (const octets& f : frames) {
            const auto whole = static_cast<uint32_t>(f.size());
            for (const uint32_t n : {0u, 0u, whole - lost, whole}) word(n);
            out.write(reinterpret_cast<const char*>(f.data()), whole - lost);
        }
    }
    ~pcap_file() { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::string path() const { return folder_ / "x.pcap"; }

  private:
    std::filesystem::path folder_;
};

std::shared_ptr<const capture> captured(const std::vector<octets>& frames) {
    const pcap_file file(frames);
    auto c = capture::open(file.path());
    if (!c) throw std::runtime_error(c.error().message());
    return *c;
}

octets built(const frame_source& s, uint64_t sequence) {
    octets f(s.bytes_of(sequence));
    s.build(f.data(), sequence, 7, 123);
    return f;
}

struct kind {
    const char* name;
    octets frame;
    bool lengthened = false;
    bool has_sum = true;
    bool is_ip = true;
};

const kind kinds[] = {
    {"udp", ethernet(0x800, ipv4(17, udp(data(100))))},
    {"udp_odd", ethernet(0x800, ipv4(17, udp(data(101))))},
    {"udp_empty", ethernet(0x800, ipv4(17, udp({})) + octets(18)), true},
    {"udp_of_17", ethernet(0x800, ipv4(17, udp(data(17)))), true},
    {"udp_of_18", ethernet(0x800, ipv4(17, udp(data(18))))},
    {"udp_without_checksum", ethernet(0x800, ipv4(17, udp(data(40), 0))), false, false},
    {"tcp", ethernet(0x800, ipv4(6, tcp(data(333))))},
    {"tcp_acknowledgment", ethernet(0x800, ipv4(6, tcp({})) + octets(6)), true},
    {"tcp_options", ethernet(0x800, ipv4(6, tcp(data(10), data(12)))), true},
    {"icmp", ethernet(0x800, ipv4(1, icmp(8, data(57))))},
    {"gre", ethernet(0x800, ipv4(47, data(64))), false, false},
    {"first_fragment", ethernet(0x800, ipv4(17, udp(data(80)), 0x2000)), false, false},
    {"later_fragment", ethernet(0x800, ipv4(17, data(48), 10)), false, false},
    {"tagged", ethernet(0x8100, octets{0, 5, 8, 0} + ipv4(17, udp(data(60))))},
    {"udp6", ethernet(0x86dd, ipv6(17, udp(data(99))))},
    {"tcp6_acknowledgment", ethernet(0x86dd, ipv6(6, tcp({}))), true},
    {"icmp6", ethernet(0x86dd, ipv6(58, icmp(128, data(56))))},
    {"options6", ethernet(0x86dd, ipv6(60, octets{17, 0, 1, 4, 0, 0, 0, 0} + udp(data(41))))},
    {"lldp", ethernet(0x88cc, data(50)), false, false, false},
    {"short", ethernet(0x88b5, data(3)), false, false, false},
};

class captures : public testing::TestWithParam<kind> {
  protected:
    const std::shared_ptr<const capture> c = captured({GetParam().frame});
    const replay source{c, 0, std::nullopt};
    const octets good = built(source, 5);
    stamp got{};
};

TEST_P(captures, are_sent_with_a_stamp_and_valid_checksums) {
    ASSERT_EQ(c->read(good, got), arrival::ours);
    EXPECT_EQ(got.sequence, 5u);
    EXPECT_EQ(got.trial, 7);
    EXPECT_EQ(got.tsc, 123u);
    EXPECT_TRUE(source.is_intact(good, 5));
    EXPECT_EQ(c->lengthened(), GetParam().lengthened ? 1u : 0u);
    EXPECT_GE(good.size(), 60u);
    packet::parsed p;
    ASSERT_EQ(packet::parse(good, static_cast<uint32_t>(good.size()), p),
              packet::parse_status::done);
    if (!GetParam().is_ip) return;
    EXPECT_EQ(p.l3_drop, packet::drop_reason::none);
    const uint8_t* ip = good.data() + p.l2_bytes;
    if (p.is_ipv4()) {
        EXPECT_EQ(packet::checksum({ip, 20}), 0);
    }
    if (!GetParam().has_sum) return;
    const std::span upper(good.data() + p.upper_offset, p.l2_bytes + p.l3_bytes - p.upper_offset);
    uint32_t sum = 0;
    if (p.upper_protocol != packet::protocol_icmp)
        sum = packet::sum_bytes(p.is_ipv4() ? std::span(ip + 12, 8) : std::span(ip + 8, 32),
                                static_cast<uint32_t>(p.upper_protocol + upper.size()));
    EXPECT_EQ(packet::fold(packet::sum_bytes(upper, sum)), 0xffff);
    if (p.upper_protocol == packet::protocol_udp) {
        EXPECT_EQ(load_be<uint16_t>(upper.data() + 4), upper.size());
    }
}

TEST_P(captures, keep_their_headers_and_their_payload_before_the_stamp) {
    const octets& was = GetParam().frame;
    const capture::frame& f = c->frame_of(0);
    const size_t headers = f.upper_at != 0 ? f.upper_at : f.l3_at;
    EXPECT_TRUE(std::equal(macs.begin(), macs.end(), good.begin()));
    for (size_t at = headers; at < std::min<size_t>(was.size(), f.stamp_at); ++at) {
        const size_t upper = at - headers;
        if (f.upper_at != 0 && upper < 18) continue;  // lengths and checksums
        EXPECT_EQ(good[at], was[at]) << at;
    }
}

TEST_P(captures, are_intact_after_a_router_and_after_a_bridge_of_vlans) {
    if (!GetParam().is_ip) return;  // a router forwards IP only
    octets routed = good;
    const capture::frame& f = c->frame_of(0);
    std::fill_n(routed.begin(), 12, 0x42);
    routed[f.l3_at + (f.ipv6 ? 7u : 8u)] -= 1;   // TTL
    if (!f.ipv6) routed[f.l3_at + 1u] ^= 3;      // ECN
    if (!f.ipv6) routed[f.l3_at + 10u] ^= 0x11;  // header checksum
    EXPECT_EQ(c->read(routed, got), arrival::ours);
    EXPECT_TRUE(source.is_intact(routed, 5));
    octets padded = routed + octets(9);
    EXPECT_EQ(c->read(padded, got), arrival::ours);
    EXPECT_TRUE(source.is_intact(padded, 5)) << "padding is no part of the packet";
    octets retagged = good;
    if (f.l3_at == 14)
        retagged.insert(retagged.begin() + 12, {0x81, 0, 0, 9});
    else
        retagged.erase(retagged.begin() + 12, retagged.begin() + 16);
    EXPECT_EQ(c->read(retagged, got), arrival::ours);
    EXPECT_TRUE(source.is_intact(retagged, 5));
}

/// From layer 3 on, but for the fields that routers change and for the checksum, which the stamp's check and the comparison
/// replace.
TEST_P(captures, a_changed_bit_is_noticed) {
    const capture::frame& f = c->frame_of(0);
    const size_t end = f.stamp_at + stamp_bytes, l3 = f.l3_at;
    for (size_t at = l3; at < end; ++at) {
        if (f.upper_at != 0 && !f.ipv6 && (at < l3 + 2 || (at >= l3 + 4 && at < l3 + 9))) continue;
        if (f.upper_at != 0 && !f.ipv6 && at >= l3 + 10 && at < l3 + 12) continue;
        if (f.ipv6 && (at < l3 + 4 || at == l3 + 7)) continue;
        if (f.checksum_at != 0 && at >= f.checksum_at && at < f.checksum_at + 2u) continue;
        for (unsigned bit = 0; bit < 8; ++bit) {
            octets bad = good;
            bad[at] ^= static_cast<uint8_t>(1u << bit);
            const arrival is = c->read(bad, got);
            EXPECT_TRUE(is != arrival::ours || !source.is_intact(bad, got.sequence))
                << "byte " << at << " bit " << bit;
            if (at >= f.stamp_at) {
                EXPECT_EQ(is, arrival::damaged) << "byte " << at;
            }
        }
    }
    for (size_t length = 0; length < end; ++length) {
        const std::span<const uint8_t> cut{good.data(), length};
        EXPECT_TRUE(c->read(cut, got) != arrival::ours || !source.is_intact(cut, got.sequence))
            << length;
    }
}

INSTANTIATE_TEST_SUITE_P(kinds, captures, testing::ValuesIn(kinds),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(replay_test, frames_are_sent_in_order_and_again) {
    std::vector<octets> all;
    for (size_t n = 0; n < 5; ++n) all.push_back(ethernet(0x800, ipv4(17, udp(data(100 + n)))));
    const auto c = captured(all);
    const replay source(c, 0, std::nullopt);
    for (uint64_t n = 0; n < 12; ++n) EXPECT_EQ(source.bytes_of(n), all[n % 5].size());
    const frame_size size = size_of(*c);
    EXPECT_EQ(size.name, "capture");
    EXPECT_DOUBLE_EQ(size.mean_bytes(), 14 + 20 + 8 + 102 + 4);
    // A frame of the right shape in another's place is not intact.
    EXPECT_FALSE(source.is_intact(built(source, 1), 2));
}

TEST(replay_test, a_router_s_mac_address_replaces_the_captured_one) {
    const auto c = captured({ethernet(0x800, ipv4(17, udp(data(100))))});
    const mac_pair macs_of_ports{{{2, 0, 0, 0, 0, 0x51}}, {{2, 0, 0, 0, 0, 0x52}}};
    const octets f = built(replay(c, 0, macs_of_ports), 0);
    EXPECT_EQ((octets{f.begin(), f.begin() + 12}),
              (octets{2, 0, 0, 0, 0, 0x52, 2, 0, 0, 0, 0, 0x51}));
}

/// The other direction of the same capture: addresses and ports are exchanged, and every frame is as valid and as well checked.
TEST_P(captures, of_the_other_direction_have_exchanged_ends) {
    const auto reverse = c->exchanged(SIZE_MAX, false);
    const replay back(reverse, 1, std::nullopt);
    const octets f = built(back, 0);
    traffic both{.captured = {c, reverse}};
    ASSERT_EQ(read_frame(both, f, got), arrival::ours);
    EXPECT_EQ(got.stream, 1);
    EXPECT_TRUE(back.is_intact(f, 0));
    EXPECT_TRUE(std::equal(f.begin(), f.begin() + 6, good.begin() + 6));
    EXPECT_TRUE(std::equal(f.begin() + 6, f.begin() + 12, good.begin()));
    const capture::frame& at = c->frame_of(0);
    if (!GetParam().is_ip) return;
    EXPECT_FALSE(source.is_intact(f, 0)) << "the addresses of the other direction";
    const size_t n = at.ipv6 ? 16 : 4, from = at.l3_at + (at.ipv6 ? 8u : 12u);
    EXPECT_TRUE(std::equal(&f[from], &f[from] + n, &good[from + n]));
    EXPECT_TRUE(std::equal(&f[from + n], &f[from + n] + n, &good[from]));
    if (at.has_ports) {
        EXPECT_EQ(load_be<uint16_t>(&f[at.upper_at]), 99);
    }
    if (GetParam().has_sum) {
        packet::parsed p;
        ASSERT_EQ(packet::parse(f, static_cast<uint32_t>(f.size()), p), packet::parse_status::done);
        const std::span upper(&f[at.upper_at], p.l2_bytes + p.l3_bytes - at.upper_at);
        uint32_t sum = 0;
        if (p.upper_protocol != packet::protocol_icmp)
            sum = packet::sum_bytes({&f[from], 2 * n},
                                    static_cast<uint32_t>(p.upper_protocol + upper.size()));
        EXPECT_EQ(packet::fold(packet::sum_bytes(upper, sum)), 0xffff);
    }
    octets bad = f;
    bad[at.stamp_at] ^= 1;
    EXPECT_EQ(read_frame(both, bad, got), arrival::damaged);
}

/// A group's address would be the source of the frame that goes back.
TEST(replay_test, frames_to_groups_do_not_go_back) {
    octets to_group = ethernet(0x800, ipv4(17, udp(data(100))));
    const octets unicast = to_group, group{1, 0, 0x5e, 0, 0, 0xfb};
    std::copy(group.begin(), group.end(), to_group.begin());
    const auto c = captured({to_group, unicast, to_group});
    const auto back = c->exchanged(SIZE_MAX, false);
    ASSERT_EQ(back->frames().size(), 1U);
    EXPECT_EQ(back->skipped(), 2U);
    traffic both{.captured = {c, back}};
    stamp got;
    EXPECT_EQ(read_frame(both, built(replay(back, 1, std::nullopt), 0), got), arrival::ours);
    EXPECT_EQ(c->exchanged(SIZE_MAX, true)->frames().size(), 3U) << "to be learned";
    EXPECT_TRUE(captured({to_group})->exchanged(SIZE_MAX, false)->frames().empty());
}

TEST(replay_test, both_ends_of_a_capture_are_at_their_ports) {
    const auto c = captured({ethernet(0x800, ipv4(17, udp(data(99))))});
    for (const size_t frames : {size_t{1}, SIZE_MAX}) {
        const traffic t{.captured = {c, c->exchanged(frames, true)}};
        const ip_address left = *parse_address("10.0.0.1"), right = *parse_address("10.0.0.2");
        EXPECT_TRUE(is_flow_address(t, 0, left) && is_flow_address(t, 1, right));
        EXPECT_FALSE(is_flow_address(t, 1, left) || is_flow_address(t, 0, right));
    }
}

/// A conversation between 10.0.0.1 and 10.0.0.2, with a frame of each one's without IP.
TEST(replay_test, a_conversation_is_split_by_its_senders) {
    octets forth = ethernet(0x800, ipv4(17, udp(data(99)))), back = forth,
           lldp_forth = ethernet(0x88cc, data(50)), lldp_back = lldp_forth;
    std::swap_ranges(back.begin(), back.begin() + 6, back.begin() + 6);
    std::swap_ranges(back.begin() + 26, back.begin() + 30, back.begin() + 30);
    std::swap_ranges(lldp_back.begin(), lldp_back.begin() + 6, lldp_back.begin() + 6);
    const auto c = captured({lldp_back, forth, back, forth, lldp_forth, macs});
    const ip_prefix left = *parse_prefix("10.0.0.1/32");
    const auto both = c->split({&left, 1});
    ASSERT_TRUE(both) << both.error().message();
    const traffic t{.captured = *both};
    ASSERT_EQ(t.captured[0]->frames().size(), 3u);
    ASSERT_EQ(t.captured[1]->frames().size(), 2u);
    EXPECT_EQ(t.captured[0]->skipped(), 1u);
    const replay first(t.captured[0], 0, std::nullopt), second(t.captured[1], 1, std::nullopt);
    for (uint64_t n = 0; n < 3; ++n) EXPECT_EQ(built(first, n)[11], 7) << "source MAC address";
    for (uint64_t n = 0; n < 2; ++n) EXPECT_EQ(built(second, n)[11], 9);
    stamp got;
    EXPECT_EQ(read_frame(t, built(second, 1), got), arrival::ours);
    EXPECT_TRUE(second.is_intact(built(second, 1), got.sequence));
    EXPECT_EQ(read_frame(t, back, got), arrival::damaged) << "no stamp, a flow of the second port";
    EXPECT_EQ(size_of(t.captured).mean_bytes(), size_of(*t.captured[0]).mean_bytes());
    EXPECT_TRUE(is_flow_address(t, 0, *parse_address("10.0.0.1")));
    EXPECT_TRUE(is_flow_address(t, 1, *parse_address("10.0.0.2")));
    const ip_prefix none = *parse_prefix("192.0.2.0/24"), all = *parse_prefix("10.0.0.0/8");
    EXPECT_NE(c->split({&none, 1}).error().message().find("no frame's source"), std::string::npos);
    EXPECT_NE(c->split({&all, 1}).error().message().find("every frame's"), std::string::npos);
}

TEST(replay_test, frames_of_others_are_foreign) {
    const auto c = captured({ethernet(0x800, ipv4(17, udp(data(99))))});
    stamp got;
    octets other = ethernet(0x800, ipv4(17, udp(data(99))));
    EXPECT_EQ(c->read(other, got), arrival::damaged) << "the same flow, no stamp";
    other[29] = 77;  // the source
    EXPECT_EQ(c->read(other, got), arrival::foreign);
    EXPECT_EQ(c->read(ethernet(0x806, data(46)), got), arrival::foreign);
    EXPECT_EQ(c->read(octets{1, 2, 3}, got), arrival::foreign);
}

TEST(replay_test, frames_that_cannot_be_sent_are_skipped_and_counted) {
    octets wrong_length = ethernet(0x800, ipv4(17, udp(data(100))));
    wrong_length[17] = 255;  // beyond the frame
    const auto c = captured({macs, octets(9100), wrong_length, ethernet(0x88cc, data(50))});
    EXPECT_EQ(c->skipped(), 3u);
    EXPECT_EQ(c->frames().size(), 1u);
}

TEST(replay_test, bad_captures_are_refused) {
    const auto why = [](const pcap_file& f) {
        const auto c = capture::open(f.path());
        return c ? std::string() : c.error().message();
    };
    const octets frame = ethernet(0x800, ipv4(17, udp(data(100))));
    EXPECT_NE(why(pcap_file({})).find("contains no frames"), std::string::npos);
    EXPECT_NE(why(pcap_file({macs})).find("that can be sent (of 1)"), std::string::npos);
    EXPECT_NE(why(pcap_file({frame, frame}, 4)).find("frame 1 has 138 of 142 bytes"),
              std::string::npos);
    EXPECT_NE(why(pcap_file({frame}, 0, 101)).find("link type"), std::string::npos);
    EXPECT_FALSE(capture::open("/nonexistent/x.pcap"));
}

}  // namespace
}  // namespace turnpike::throughput
