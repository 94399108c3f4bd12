// SPDX-License-Identifier: BSD-3-Clause
// Headers of a datagram's pieces: put together again (RFC 791 section 3.2, "An Example Reassembly Procedure",
// written here from its text) they are the datagram.
#include <gtest/gtest.h>

#include <random>

#include "lib/packet_bytes.hpp"
#include "packet/checksum.hpp"
#include "packet/fragment.hpp"
#include "packet/headers.hpp"

namespace turnpike::packet {
namespace {

using namespace test;

/// A datagram in pieces, as stage fragment makes them.
std::vector<byte_vector> pieces_of(const byte_vector& whole, uint32_t mtu) {
    const auto& ip = header_at<ipv4_header>(whole.data());
    const uint32_t header = ip.header_bytes(), data = ip.total_bytes - header;
    const uint32_t most = bytes_of_piece(header, mtu);
    std::vector<byte_vector> out;
    for (uint32_t offset = 0; offset < data; offset += most) {
        const uint32_t bytes = std::min(most, data - offset);
        byte_vector one(whole.begin(), whole.begin() + header);
        make_piece(one.data(), header, {offset, bytes, offset + bytes == data});
        const auto from = whole.begin() + header + offset;
        one.insert(one.end(), from, from + bytes);
        out.push_back(std::move(one));
    }
    return out;
}

struct reassembled {
    byte_vector data{};
    uint32_t total = 0;  ///< 0: the last is not there
    void put(const byte_vector& one) {
        const auto& ip = header_at<ipv4_header>(one.data());
        const uint32_t header = ip.header_bytes(), bytes = ip.total_bytes - header;
        const uint32_t at = (ip.fragment & ipv4_fragment_offset) * 8U;
        ASSERT_EQ(one.size(), ip.total_bytes);
        ASSERT_EQ(checksum({one.data(), header}), 0) << "its header's checksum is right";
        const bool more = (ip.fragment & ipv4_more_fragments) != 0;
        ASSERT_TRUE(!more || bytes % 8 == 0);
        if (data.size() < at + bytes) data.resize(at + bytes);
        std::copy(one.begin() + header, one.end(), data.begin() + at);
        if (!more) total = at + bytes;
    }
};

TEST(fragment, pieces_are_the_datagram_again) {
    std::minstd_rand random(7);
    for (int round = 0; round < 300; ++round) {
        ipv4_fields f;
        f.options = zeros(4 * (random() % 11));
        const auto whole = ipv4(f, counted(1 + random() % 20'000));
        const auto mtu = static_cast<uint32_t>(68 + random() % 3000);
        const auto pieces = pieces_of(whole, mtu);
        reassembled r;
        for (const byte_vector& one : pieces) {
            ASSERT_LE(one.size(), mtu);
            r.put(one);
        }
        const size_t header = header_at<ipv4_header>(whole.data()).header_bytes();
        ASSERT_EQ(r.total, whole.size() - header);
        ASSERT_EQ(r.data, byte_vector(whole.begin() + static_cast<ptrdiff_t>(header), whole.end()));
        // The fragments have the maximum length: one fragment less would not hold the packet.
        ASSERT_GT(r.total, (pieces.size() - 1) * (mtu - header - 7));
    }
}

/// Fragmentation by a link, and again by a link with a smaller MTU behind it.
TEST(fragment, pieces_of_pieces) {
    const auto whole = ipv4({}, counted(5000));
    reassembled r;
    for (const byte_vector& one : pieces_of(whole, 1500))
        for (const byte_vector& smaller : pieces_of(one, 576)) r.put(smaller);
    EXPECT_EQ(r.total, 5000U);
    EXPECT_EQ(r.data, counted(5000));
}

/// RFC 791 section 3.1: security, both source routes and stream identifier are copied; record route and time
/// stamp are in the first piece only.
TEST(fragment, options_that_are_not_copied_are_in_the_first) {
    ipv4_fields f;
    f.options = {7, 7, 4, 1, 2, 3, 4, 1, 131, 7, 4, 10, 0, 0, 9, 68, 4, 5, 0, 0};
    const auto pieces = pieces_of(ipv4(f, counted(100)), 100);
    ASSERT_GE(pieces.size(), 2U);
    const byte_vector first(pieces[0].begin() + 20, pieces[0].begin() + 40),
        second(pieces[1].begin() + 20, pieces[1].begin() + 40);
    EXPECT_EQ(first, f.options);
    EXPECT_EQ(second, (byte_vector{1, 1, 1, 1, 1, 1, 1, 1, 131, 7, 4, 10, 0, 0, 9, 1, 1, 1, 1, 0}));
}

/// Options that are not well formed are left as they are, and nothing behind them is touched.
TEST(fragment, options_cut_short) {
    for (const byte_vector& options : {byte_vector{7, 40, 1, 1}, byte_vector{7, 0, 1, 1},
                                       byte_vector{7, 1, 1, 1}, byte_vector{1, 1, 1, 7}}) {
        ipv4_fields f;
        f.options = options;
        const auto pieces = pieces_of(ipv4(f, counted(100)), 76);
        const byte_vector second(pieces[1].begin() + 20, pieces[1].begin() + 24);
        EXPECT_EQ(second, options);
    }
}

}  // namespace
}  // namespace turnpike::packet
