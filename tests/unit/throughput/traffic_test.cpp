// SPDX-License-Identifier: BSD-3-Clause
// Frames are verified by lib/packet's parser and checksums, and every changed byte is noticed.
#include "traffic.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "packet/checksum.hpp"
#include "packet/headers.hpp"
#include "packet/parse.hpp"

namespace turnpike::throughput {
namespace {

constexpr mac_address here{{2, 0, 0, 0, 0, 1}}, there{{2, 0, 0, 0, 0, 2}};

std::vector<uint8_t> build(const stream& s, uint64_t sequence, uint16_t trial = 7,
                           uint64_t tsc = 123) {
    std::vector<uint8_t> frame(s.bytes_of(sequence));
    s.build(frame.data(), sequence, trial, tsc);
    return frame;
}

class frames : public testing::TestWithParam<traffic> {
  protected:
    const traffic t = GetParam();
    frame_size size(uint32_t bytes) const { return *parse_frame_size(std::to_string(bytes), t); }
};

TEST_P(frames, have_valid_headers_and_checksums) {
    for (const uint32_t more : {0u, 1u, 2u, 3u, 700u, 1400u}) {
        const stream s(t, 1, size(smallest_frame_bytes(t) + more), here, there);
        for (uint64_t n = 0; n < 300; ++n) {
            const auto frame = build(s, n);
            const uint8_t* ip = frame.data() + 14 + (t.vlan != 0 ? 4 : 0);
            const auto bytes = static_cast<uint32_t>(frame.data() + frame.size() - ip);
            uint32_t sum = packet::protocol_udp, l4 = 0;
            if (t.ipv6) {
                l4 = 40;
                ASSERT_EQ(load_be<uint16_t>(ip + 4), bytes - l4);
                sum = packet::sum_bytes({ip + 8, 32}, sum);
            } else {
                l4 = 20;
                ASSERT_EQ(load_be<uint16_t>(ip + 2), bytes);
                ASSERT_EQ(packet::checksum({ip, 20}), 0);
                sum = packet::sum_bytes({ip + 12, 8}, sum);
            }
            ASSERT_EQ(packet::fold(packet::sum_bytes({ip + l4, bytes - l4}, sum + bytes - l4)),
                      0xffff);
        }
    }
}

TEST_P(frames, come_back_as_they_were_sent) {
    const stream s(t, 0, size(128), here, there);
    for (const uint64_t n : {uint64_t{0}, uint64_t{99}, uint64_t{100}, uint64_t{0xff'ffff'ffff}}) {
        const auto frame = build(s, n, 65535, 0xffff'ffff'ffff);
        stamp got;
        ASSERT_EQ(read_frame(t, frame, got), arrival::ours);
        EXPECT_EQ(got.sequence, n);
        EXPECT_EQ(got.trial, 65535);
        EXPECT_EQ(got.stream, 0);
        EXPECT_EQ(got.tsc, 0xffff'ffff'ffffu);
        EXPECT_TRUE(s.is_intact(frame, n));
    }
}

/// From the IP addresses on, but for the UDP checksum, which the stamp's check and the comparison replace.
TEST_P(frames, a_changed_bit_is_noticed) {
    const stream s(t, 0, size(100), here, there);
    const auto good = build(s, 5);
    const size_t ip = 14 + (t.vlan != 0 ? 4 : 0), addresses = ip + (t.ipv6 ? 8 : 12),
                 l4 = ip + (t.ipv6 ? 40 : 20);
    for (size_t at = addresses; at < good.size(); ++at) {
        if (at >= l4 + 4 && at < l4 + 8) continue;  // UDP length and checksum
        for (unsigned bit = 0; bit < 8; ++bit) {
            auto frame = good;
            frame[at] ^= static_cast<uint8_t>(1u << bit);
            stamp got;
            const arrival is = read_frame(t, frame, got);
            EXPECT_TRUE(is != arrival::ours || !s.is_intact(frame, got.sequence)) << "byte " << at;
            EXPECT_TRUE(is != arrival::foreign || (at >= l4 && at < l4 + 4)) << "byte " << at;
        }
    }
    for (size_t length = 0; length < good.size(); ++length) {
        stamp got;
        const std::span<const uint8_t> cut{good.data(), length};
        EXPECT_TRUE(read_frame(t, cut, got) != arrival::ours || !s.is_intact(cut, got.sequence))
            << length;
    }
}

TEST_P(frames, flows_are_incremented_pairwise) {
    const stream s(t, 0, size(100), here, there);
    std::set<std::vector<uint8_t>> pairs;
    const size_t ip = 14 + (t.vlan != 0 ? 4 : 0), at = t.by_mac ? 0 : ip + (t.ipv6 ? 8 : 12),
                 bytes = t.by_mac ? 12
                         : t.ipv6 ? 32
                                  : 8;
    for (uint64_t n = 0; n < 3 * t.flows; ++n) {
        const auto frame = build(s, n);
        pairs.insert(
            {frame.begin() + static_cast<long>(at), frame.begin() + static_cast<long>(at + bytes)});
        const uint8_t* first = frame.data() + at;
        const size_t half = bytes / 2;
        ASSERT_EQ(load_be<uint16_t>(first + half - 2), n % t.flows);
        ASSERT_EQ(load_be<uint16_t>(first + 2 * half - 2), n % t.flows);
    }
    EXPECT_EQ(pairs.size(), t.flows);
}

/// A bridge learns the addresses of one direction by the frames of the other.
TEST_P(frames, of_the_two_directions_have_exchanged_addresses) {
    const stream out(t, 0, size(100), here, there), back(t, 1, size(100), there, here);
    const auto a = build(out, 42), b = build(back, 42);
    EXPECT_TRUE(std::equal(a.begin(), a.begin() + 6, b.begin() + 6));
    EXPECT_TRUE(std::equal(a.begin() + 6, a.begin() + 12, b.begin()));
}

/// Flows of the pairs of ports have addresses that no other port has.
TEST_P(frames, of_further_pairs_have_other_addresses) {
    std::set<std::vector<uint8_t>> ends;
    const size_t ip = 14 + (t.vlan != 0 ? 4 : 0),
                 half = t.by_mac ? 6
                        : t.ipv6 ? 16
                                 : 4,
                 at = t.by_mac ? 0 : ip + (t.ipv6 ? 8 : 12);
    for (uint8_t port = 0; port < max_ports; ++port) {
        const stream s(t, port, size(100), here, there);
        for (uint64_t n = 0; n < t.flows; ++n) {
            const auto frame = build(s, n);
            stamp got;
            ASSERT_EQ(read_frame(t, frame, got), arrival::ours);
            ASSERT_EQ(got.stream, port);
            ASSERT_TRUE(s.is_intact(frame, n));
            const auto* source = &frame[t.by_mac ? 6 : at];
            ends.insert({source, source + half});
            if (t.by_mac) continue;
            packet::ipv4_header v4;
            std::memcpy(&v4, &frame[ip], sizeof v4);
            const ip_address own =
                t.ipv6 ? ip_address::from_v6(ipv6_of(port, static_cast<uint32_t>(n)))
                       : ip_address::from_v4(v4.source);
            ASSERT_TRUE(is_flow_address(t, port, own));
            ASSERT_FALSE(is_flow_address(t, peer_of(port), own));
        }
    }
    EXPECT_EQ(ends.size(), size_t{max_ports} * t.flows);
}

INSTANTIATE_TEST_SUITE_P(kinds, frames,
                         testing::Values(traffic{.flows = 100}, traffic{.ipv6 = true, .flows = 100},
                                         traffic{.by_mac = true, .flows = 100},
                                         traffic{.flows = 100, .vlan = 7},
                                         traffic{.ipv6 = true, .flows = 100, .vlan = 4094}),
                         [](const auto& of) {
                             return std::string(of.param.ipv6 ? "ipv6" : "ipv4") +
                                    (of.param.by_mac ? "_by_mac" : "") +
                                    (of.param.vlan != 0 ? "_tagged" : "");
                         });

TEST(frame_size_test, has_the_line_rate_of_its_mean) {
    EXPECT_NEAR(parse_frame_size("64", {})->line_rate_fps(10e9), 14'880'952, 1);
    const auto mix = *parse_frame_size("imix", {});
    EXPECT_NEAR(mix.mean_bytes(), (7 * 64 + 4 * 570 + 1518) / 12.0, 1e-9);
    EXPECT_EQ(mix.largest(), 1518u);
}

TEST(frame_size_test, of_bad_text_is_refused) {
    for (const char* text : {"", "63", "9019", "64x", "mix", "-64"})
        EXPECT_FALSE(parse_frame_size(text, {})) << text;
    EXPECT_FALSE(parse_frame_size("64", {.ipv6 = true}));
    EXPECT_TRUE(parse_frame_size("84", {.ipv6 = true}));
}

}  // namespace
}  // namespace turnpike::throughput
