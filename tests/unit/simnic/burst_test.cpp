// SPDX-License-Identifier: BSD-3-Clause
// The driver's inner loops, every instruction set, over memory that looks like rings and mbufs.
#include "host/kernel/burst.hpp"

#include <gtest/gtest.h>
#include <rte_mbuf_core.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "lib/isa_param.hpp"

namespace turnpike::simnic {
namespace {

constexpr uint32_t most = 2 * 8 + 1;
constexpr uint64_t fresh = 0x0007'0001'0001'0080;  // port 7, one segment, one owner, headroom 128

/// `n` mbufs and `n` descriptors, each array exactly as long: ASan reports accesses beyond.
struct ring_and_mbufs {
    std::unique_ptr<rte_mbuf[]> mbufs;
    std::vector<rte_mbuf*> posted;
    std::vector<descriptor> ring;

    ring_and_mbufs(uint32_t n, uint32_t words) : mbufs(new rte_mbuf[n]), ring(n * words) {
        std::memset(static_cast<void*>(mbufs.get()), 0xee, n * sizeof(rte_mbuf));
        for (uint32_t i = 0; i < n; ++i) {
            posted.push_back(&mbufs[i]);
            mbufs[i].buf_iova = 0x1'0000'0000 + i * 0x1000u;
            mbufs[i].data_off = static_cast<uint16_t>(100 + i);
            mbufs[i].data_len = static_cast<uint16_t>(60 + i);
        }
    }
};

class burst_kernel : public ::testing::TestWithParam<std::string> {};

uint64_t flags_of(uint32_t status) {
    uint64_t flags = 0;
    if (status & rx_ip_good) flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD;
    if (status & rx_ip_bad) flags |= RTE_MBUF_F_RX_IP_CKSUM_BAD;
    if (status & rx_l4_good) flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    if (status & rx_l4_bad) flags |= RTE_MBUF_F_RX_L4_CKSUM_BAD;
    if (status & rx_hashed) flags |= RTE_MBUF_F_RX_RSS_HASH;
    if (status & rx_stripped) flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
    return flags;
}

void expect_filled(const rte_mbuf& m, const descriptor& d, uint32_t i) {
    const auto status = static_cast<uint32_t>(d.word[1]);
    const auto bytes = static_cast<uint32_t>(d.word[1] >> 32);
    EXPECT_EQ(std::memcmp(&m.data_off, &fresh, sizeof fresh), 0) << i;
    EXPECT_EQ(m.ol_flags, flags_of(status)) << i;
    EXPECT_EQ(m.packet_type, d.word[0] >> 48) << i;
    EXPECT_EQ(m.pkt_len, bytes) << i;
    EXPECT_EQ(m.data_len, bytes) << i;
    EXPECT_EQ(m.vlan_tci, d.word[0] >> 32 & 0xffff) << i;
    EXPECT_EQ(m.hash.rss, d.word[0] & 0xffff'ffff) << i;
}

TEST_P(burst_kernel, takes_up_to_the_first_that_is_not_done) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, burst_kernel_table());
    const burst_kernels& k = kernel->function();
    std::mt19937_64 random(1);
    for (const uint32_t words : {1u, 2u})
        for (uint32_t n = 0; n <= most; ++n)
            for (uint32_t stop = 0; stop <= n; ++stop) {
                ring_and_mbufs r(n, words);
                for (uint32_t i = 0; i < n; ++i) {
                    auto status = static_cast<uint32_t>(random() % 64 << 4) | rx_done | rx_end;
                    if (i == stop) status = stop % 2 == 0 ? 0 : rx_done | rx_error;
                    r.ring[i * words] = {{random(), rx_answer_1(status, 60 + i)}};
                }
                std::vector<rte_mbuf*> out(n, nullptr);
                const auto next_frame = words == 1 ? k.receive_16 : k.receive_32;
                ASSERT_EQ(next_frame(r.ring.data(), r.posted.data(), out.data(), n, fresh), stop)
                    << n << " descriptors of " << 16 * words;
                for (uint32_t i = 0; i < stop; ++i) {
                    EXPECT_EQ(out[i], r.posted[i]);
                    expect_filled(r.mbufs[i], r.ring[i * words], i);
                    EXPECT_EQ(r.mbufs[i].buf_iova, 0x1'0000'0000 + i * 0x1000u);
                }
            }
}

TEST_P(burst_kernel, posts_buffers_without_an_answer) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, burst_kernel_table());
    const burst_kernels& k = kernel->function();
    for (const uint32_t words : {1u, 2u})
        for (uint32_t n = 0; n <= most; ++n) {
            ring_and_mbufs r(n, words);
            for (auto& d : r.ring) d = {{~0ull, ~0ull}};
            (words == 1 ? k.post_16 : k.post_32)(r.ring.data(), r.posted.data(), n, 128);
            for (uint32_t i = 0; i < n; ++i) {
                EXPECT_EQ(r.ring[i * words].word[0], r.mbufs[i].buf_iova + 128);
                EXPECT_EQ(r.ring[i * words].word[1], 0u);
                if (words == 2) {
                    EXPECT_EQ(r.ring[i * words + 1].word[0], 0u);
                    EXPECT_EQ(r.ring[i * words + 1].word[1], 0u);
                }
            }
        }
}

TEST_P(burst_kernel, sends_frames_and_remembers_them) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, burst_kernel_table());
    const burst_kernels& k = kernel->function();
    for (uint32_t n = 0; n <= most; ++n) {
        ring_and_mbufs r(n, 1);
        std::vector<rte_mbuf*> posted(n, nullptr);
        k.send(r.ring.data(), posted.data(), r.posted.data(), n, tx_end | tx_report);
        EXPECT_EQ(posted, r.posted);
        for (uint32_t i = 0; i < n; ++i) {
            EXPECT_EQ(r.ring[i].word[0], r.mbufs[i].buf_iova + r.mbufs[i].data_off);
            EXPECT_EQ(r.ring[i].word[1],
                      tx_end | tx_report | uint64_t{r.mbufs[i].data_len} << tx_bytes_shift);
        }
    }
}

TEST_P(burst_kernel, sends_the_tags_that_frames_request) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, burst_kernel_table());
    const burst_kernels& k = kernel->function();
    for (uint32_t n = 0; n <= most; ++n) {
        ring_and_mbufs r(n, 1);
        std::vector<rte_mbuf*> posted(n, nullptr);
        for (uint32_t i = 0; i < n; ++i) {
            r.mbufs[i].vlan_tci = static_cast<uint16_t>(0xfff0 + i);
            r.mbufs[i].ol_flags = i % 3 == 0 ? 0 : RTE_MBUF_F_TX_VLAN | RTE_MBUF_F_RX_RSS_HASH;
        }
        k.send_tagged(r.ring.data(), posted.data(), r.posted.data(), n, tx_end);
        EXPECT_EQ(posted, r.posted);
        for (uint32_t i = 0; i < n; ++i) {
            const uint64_t tag = tx_insert_tag | uint64_t{r.mbufs[i].vlan_tci} << tx_tag_shift;
            EXPECT_EQ(r.ring[i].word[0], r.mbufs[i].buf_iova + r.mbufs[i].data_off);
            EXPECT_EQ(r.ring[i].word[1], tx_end | (i % 3 == 0 ? 0 : tag) |
                                             uint64_t{r.mbufs[i].data_len} << tx_bytes_shift);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(isa, burst_kernel,
                         ::testing::ValuesIn(test::kernel_names(burst_kernel_table())),
                         test::isa_name);

}  // namespace
}  // namespace turnpike::simnic
