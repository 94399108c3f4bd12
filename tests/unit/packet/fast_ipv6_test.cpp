// SPDX-License-Identifier: BSD-3-Clause
// Each kernel against what the single functions of this room say of the same frames.
#include "packet/fast_ipv6.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "frames.hpp"
#include "lib/guarded_memory.hpp"
#include "lib/isa_param.hpp"
#include "packet/parse.hpp"

namespace turnpike::packet {
namespace {

using namespace test;

constexpr mac_address us6{{0x02, 0, 0, 0, 0, 0x0b}};  // mac_b of lib/packet_bytes.hpp
constexpr size_t bytes_read = 54;

bool is_global6(const ipv6_address& a) {
    return (a.bytes[0] & 0xe0) == 0x20 || (a.bytes[0] & 0xfe) == 0xfc;
}

/// Fit for the fast path, by the functions of the slow path.
bool is_fast6(const byte_vector& frame) {
    parsed p;
    if (parse(frame, static_cast<uint32_t>(frame.size()), p) != parse_status::done) return false;
    if (p.l3_drop != drop_reason::none || p.l3 != l3_kind::ipv6 || p.vlan_tags != 0) return false;
    const auto& ip = header_at<ipv6_header>(frame.data() + 14);
    return header_at<ethernet_header>(frame.data()).destination == us6 && ip.hop_limit > 1 &&
           !is_ipv6_extension(ip.next_header) && ip.next_header != protocol_icmpv6 &&
           is_global6(ip.source) && is_global6(ip.destination) && ip.source != ip.destination;
}

class fast_frames6 : public ::testing::TestWithParam<std::string> {
  protected:
    /// Frames are followed by a page without access, as soon as 54 bytes are there.
    void compare(fast_ipv6_function* find, const std::vector<byte_vector>& frames) {
        const uint8_t* first[fast_ipv6_frames];
        uint32_t sizes[fast_ipv6_frames] = {};
        const auto n = static_cast<uint32_t>(frames.size());
        std::vector<uint8_t*> copies;
        for (uint32_t i = 0; i < n; ++i) {
            const bool read = frames[i].size() >= bytes_read;
            auto* copy =
                static_cast<uint8_t*>(memory_.allocate(std::max(frames[i].size(), bytes_read), 1));
            std::memset(copy, 0, bytes_read);
            std::copy(frames[i].begin(), frames[i].end(), copy);
            copies.push_back(copy);
            first[i] = copy;
            sizes[i] = read ? static_cast<uint32_t>(frames[i].size()) : 0;
        }
        for (uint32_t i = n; i < fast_ipv6_frames; ++i) first[i] = first[0];
        fast_ipv6 out;
        std::memset(&out, 0xa5, sizeof out);
        const uint32_t found = find(first, sizes, n, us6, out);
        EXPECT_EQ(static_cast<uint64_t>(found) >> n, 0U);
        EXPECT_EQ(out.doubt & ~found, 0U);
        uint32_t longest = 0;
        bool padded = false;
        for (uint32_t i = 0; i < n; ++i) {
            const auto& ip = header_at<ipv6_header>(copies[i] + 14);
            const bool candidate = (found >> i & 1) != 0, doubt = (out.doubt >> i & 1) != 0;
            const bool fast = candidate && (!doubt || is_fast_for_sure(ip));
            ASSERT_EQ(fast, is_fast6(frames[i])) << ::testing::PrintToString(frames[i]);
            const bool usual = ip.next_header == 6 || ip.next_header == 17;
            ASSERT_TRUE(!doubt || !usual || std::memcmp(&ip.source, &ip.destination, 4) == 0);
            doubts_ += doubt;
            if (!candidate) {
                EXPECT_EQ(out.l3_bytes[i], 0U);
                continue;
            }
            EXPECT_EQ(out.l3_bytes[i], ip.payload_bytes + 40U);
            longest = std::max(longest, out.l3_bytes[i]);
            padded |= frames[i].size() > 14 + out.l3_bytes[i];
            fast_ += fast;
        }
        EXPECT_EQ(out.longest, longest);
        EXPECT_EQ(out.padded, padded);
        for (uint8_t* copy : copies) memory_.release(copy);
    }
    guarded_memory memory_;
    uint64_t fast_ = 0, doubts_ = 0;
};

TEST_P(fast_frames6, are_those_that_every_check_passes) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, fast_ipv6_kernels());
    for (const frame_fixture& f : frame_fixtures()) compare(kernel->function, {f.bytes});
    EXPECT_GT(fast_, 2U);
}

TEST_P(fast_frames6, of_random_headers_in_bursts_of_any_size) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, fast_ipv6_kernels());
    std::mt19937 random(7);
    const auto address = [&] {
        constexpr uint8_t edges[] = {0x00, 0x1f, 0x20, 0x3f, 0x40, 0xfb, 0xfc, 0xfd, 0xfe, 0xff};
        byte_vector out(16);
        // Few values, so that addresses share some of their words.
        for (size_t i = 0; i < out.size(); i += 4) out[i + 3] = static_cast<uint8_t>(random() % 2);
        out[0] = random() % 3 == 0 ? edges[random() % std::size(edges)] : 0x20;
        return out;
    };
    for (int round = 0; round < 600; ++round) {
        std::vector<byte_vector> frames(1 + static_cast<uint32_t>(round) % fast_ipv6_frames);
        for (byte_vector& f : frames) {
            ipv6_fields fields{
                .version = static_cast<uint8_t>(random() % 16 != 0 ? 6 : random() % 16),
                .next_header =
                    static_cast<uint8_t>(random() % 3 == 0 ? random() : 6 + random() % 2 * 11),
                .hop_limit = static_cast<uint8_t>(random() % 4 != 0 ? 64 : random() % 3),
                .source = address(),
                .destination = address()};
            if (random() % 16 == 0) fields.destination = fields.source;
            const auto payload = static_cast<uint32_t>(random() % 12);
            if (random() % 8 == 0) fields.payload_bytes = static_cast<uint16_t>(random() % 24);
            if (random() % 32 == 0) fields.payload_bytes = static_cast<uint16_t>(random());
            f = ethernet(0x86dd, ipv6(fields, counted(payload)));
            if (random() % 8 == 0)
                f[random() % bytes_read] ^= static_cast<uint8_t>(1 << random() % 8);
        }
        compare(kernel->function, frames);
    }
    EXPECT_GT(fast_, 1000U);
    EXPECT_GT(doubts_, 500U);
}

INSTANTIATE_TEST_SUITE_P(isa, fast_frames6, ::testing::ValuesIn(kernel_names(fast_ipv6_kernels())),
                         isa_name);

}  // namespace
}  // namespace turnpike::packet
