// SPDX-License-Identifier: BSD-3-Clause
// Each kernel against what the single functions of this room say of the same frames.
#include "packet/fast_ipv4.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "frames.hpp"
#include "lib/guarded_memory.hpp"
#include "lib/isa_param.hpp"
#include "packet/ipv4.hpp"
#include "packet/parse.hpp"
#include "packet/rewrite.hpp"

namespace turnpike::packet {
namespace {

using namespace test;

constexpr mac_address us{{0x02, 0, 0, 0, 0, 0x0b}};  // mac_b of lib/packet_bytes.hpp

/// Fit for the fast path, by the functions of the slow path.
bool is_fast(const byte_vector& frame) {
    parsed p;
    if (parse(frame, static_cast<uint32_t>(frame.size()), p) != parse_status::done) return false;
    if (p.l3_drop != drop_reason::none || !p.is_ipv4() || p.vlan_tags != 0) return false;
    const auto& ip = header_at<ipv4_header>(frame.data() + 14);
    return header_at<ethernet_header>(frame.data()).destination == us && !p.is(flag_ipv4_options) &&
           checksum({frame.data() + 14, 20}) == 0 && ip.ttl > 1 &&
           check_ipv4_addresses(ip.source, ip.destination) == drop_reason::none;
}

class fast_frames : public ::testing::TestWithParam<std::string> {
  protected:
    /// Frames are followed by a page without access, as soon as 34 bytes are there.
    void compare(fast_ipv4_function* find, const std::vector<byte_vector>& frames) {
        const uint8_t* first[fast_ipv4_frames];
        uint32_t sizes[fast_ipv4_frames] = {};
        const auto n = static_cast<uint32_t>(frames.size());
        std::vector<uint8_t*> copies;
        for (uint32_t i = 0; i < n; ++i) {
            const size_t bytes = std::max<size_t>(frames[i].size(), 34);
            auto* copy = static_cast<uint8_t*>(memory_.allocate(bytes, 1));
            std::copy(frames[i].begin(), frames[i].end(), copy);
            copies.push_back(copy);
            first[i] = copy;
            sizes[i] = static_cast<uint32_t>(frames[i].size());
        }
        for (uint32_t i = n; i < fast_ipv4_frames; ++i) first[i] = first[0];
        fast_ipv4 out;
        std::memset(&out, 0xa5, sizeof out);
        const uint32_t found = find(first, sizes, n, us, out);
        EXPECT_EQ(static_cast<uint64_t>(found) >> n, 0U);
        uint32_t longest = 0;
        bool padded = false;
        for (uint32_t i = 0; i < n; ++i) {
            const bool fast = (found >> i & 1) != 0;
            ASSERT_EQ(fast, is_fast(frames[i])) << ::testing::PrintToString(frames[i]);
            if (!fast) {
                EXPECT_EQ(out.l3_bytes[i], 0U);
                continue;
            }
            auto& ip = header_at<ipv4_header>(copies[i] + 14);
            EXPECT_EQ(out.source[i], uint32_t{ip.source});
            EXPECT_EQ(out.destination[i], uint32_t{ip.destination});
            EXPECT_EQ(out.l3_bytes[i], uint32_t{ip.total_bytes});
            EXPECT_EQ(decrement_ttl(ip), drop_reason::none);
            EXPECT_EQ(std::memcmp(&out.forwarded[i], copies[i] + 14 + 8, 4), 0);
            longest = std::max(longest, out.l3_bytes[i]);
            padded |= frames[i].size() > 14 + out.l3_bytes[i];
            ++fast_;
        }
        EXPECT_EQ(out.longest, longest);
        EXPECT_EQ(out.padded, padded);
        for (uint8_t* copy : copies) memory_.release(copy);
    }
    guarded_memory memory_;
    uint64_t fast_ = 0;
};

TEST_P(fast_frames, are_those_that_every_check_passes) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, fast_ipv4_kernels());
    for (const frame_fixture& f : frame_fixtures()) compare(kernel->function, {f.bytes});
    EXPECT_GT(fast_, 10U);
}

/// Any checksum, and any address: the middle of the header is random.
TEST_P(fast_frames, of_random_headers_in_bursts_of_any_size) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, fast_ipv4_kernels());
    std::mt19937 random(7);
    for (int round = 0; round < 600; ++round) {
        std::vector<byte_vector> frames(1 + static_cast<uint32_t>(round) % fast_ipv4_frames);
        for (byte_vector& f : frames) {
            ipv4_fields fields{.id = static_cast<uint16_t>(random()),
                               .fragment = static_cast<uint16_t>(random()),
                               .ttl = static_cast<uint8_t>(random() % 4 != 0 ? 64 : random() % 3),
                               .protocol = static_cast<uint8_t>(random()),
                               .source = static_cast<uint32_t>(random()),
                               .destination = static_cast<uint32_t>(random())};
            // Networks' first and last addresses, and their neighbours.
            constexpr uint32_t edges[] = {0x00ffffff, 0x01000000, 0x7effffff, 0x7f000000,
                                          0x80000000, 0xa9fdffff, 0xa9fe0000, 0xa9feffff,
                                          0xa9ff0000, 0xdfffffff, 0xe0000000, 0xffffffff};
            if (random() % 3 == 0) fields.source = edges[random() % std::size(edges)];
            if (random() % 3 == 0) fields.destination = edges[random() % std::size(edges)];
            if (random() % 16 == 0) fields.destination = fields.source;
            if (random() % 8 == 0) fields.total_bytes = static_cast<uint16_t>(15 + random() % 20);
            f = ethernet(0x0800, ipv4(fields, counted(random() % 12)));
            if (random() % 8 == 0) f[random() % 34] ^= static_cast<uint8_t>(1 << random() % 8);
        }
        compare(kernel->function, frames);
    }
    EXPECT_GT(fast_, 1000U);
}

/// All 65,536 checksums, so that every carry of the update occurs.
TEST_P(fast_frames, have_a_right_checksum_one_hop_further) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, fast_ipv4_kernels());
    std::array<uint8_t, 64> frame{};
    const byte_vector bytes = ethernet(0x0800, ipv4({.id = 0}, counted(10)));
    std::copy(bytes.begin(), bytes.end(), frame.begin());
    std::array<const uint8_t*, 16> first;
    first.fill(frame.data());
    std::array<uint32_t, 16> sizes;
    sizes.fill(static_cast<uint32_t>(bytes.size()));
    for (uint32_t id = 0; id <= 0xffff; ++id) {
        auto& ip = header_at<ipv4_header>(frame.data() + 14);
        ip.id = static_cast<uint16_t>(id);
        ip.ttl = 64;
        ip.checksum = 0;
        ip.checksum = checksum({frame.data() + 14, 20});
        fast_ipv4 out;
        ASSERT_EQ(kernel->function(first.data(), sizes.data(), 1, us, out), 1U) << id;
        ASSERT_EQ(decrement_ttl(ip), drop_reason::none);
        ASSERT_EQ(std::memcmp(&out.forwarded[0], frame.data() + 14 + 8, 4), 0) << id;
    }
}

INSTANTIATE_TEST_SUITE_P(isa, fast_frames, ::testing::ValuesIn(kernel_names(fast_ipv4_kernels())),
                         isa_name);

}  // namespace
}  // namespace turnpike::packet
