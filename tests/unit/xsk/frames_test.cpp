// SPDX-License-Identifier: BSD-3-Clause
// Pools and frames that a port accepts: chained, long, from foreign pools.
#include "unit/xsk/port.hpp"

namespace turnpike::test {
namespace {

struct no_umem {
    const char* what;
    std::function<rte_mempool*()> make;
    const char* message;
};
class xsk_pools : public xsk_port, public ::testing::WithParamInterface<no_umem> {};

TEST_P(xsk_pools, that_are_no_umem_are_refused_by_name) {
    const cable wire("near");
    rte_mempool* other = GetParam().make();
    ASSERT_NE(other, nullptr);
    {
        port p("net_xsk0", wire, pool);
        ASSERT_EQ(p.code, 0);
        ::testing::internal::CaptureStderr();
        EXPECT_EQ(rte_eth_rx_queue_setup(p.id, 0, 256, 0, nullptr, other), -EINVAL);
        fflush(stderr);
        const std::string message = ::testing::internal::GetCapturedStderr();
        EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
    }
    rte_mempool_free(other);
}

rte_mempool* pool_with_pinned_buffers() {
    static std::vector<uint8_t> memory(64 * 4096);
    rte_pktmbuf_extmem piece{
        .buf_ptr = memory.data(), .buf_iova = 0, .buf_len = memory.size(), .elt_size = 2304};
    return rte_pktmbuf_pool_create_extbuf("pinned", 64, 0, 0, 2304, SOCKET_ID_ANY, &piece, 1);
}

INSTANTIATE_TEST_SUITE_P(
    all, xsk_pools,
    ::testing::Values(no_umem{"short_buffers", [] { return make_pool("short", 512, 1900); },
                              "pool 'short': cannot be a UMEM: its buffers have 1900 bytes"},
                      no_umem{"pinned_buffers", pool_with_pinned_buffers,
                              "pool 'pinned': cannot be a UMEM: its buffers are external"}),
    [](const auto& row) { return row.param.what; });

TEST_F(xsk_port, frames_that_do_not_fit_a_buffer_need_scattering) {
    const cable wire("near", 3000);
    port p("net_xsk0", wire, pool, {.mtu = 3000});
    ASSERT_EQ(p.code, 0);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(rte_eth_dev_start(p.id), -EINVAL);
    fflush(stderr);
    const std::string message = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(message.find("RTE_ETH_RX_OFFLOAD_SCATTER"), std::string::npos) << message;
}

TEST_F(xsk_port, jumbo_frames_take_several_buffers) {
    const cable wire("near", 9000);
    for (const char* mode : {"", ",mode=skb"}) {
        port p("net_xsk0", wire, pool, {.arguments = mode, .mtu = 9000, .scatter = true});
        ASSERT_EQ(p.code, 0);
        p.start();
        uint32_t number = 0;
        for (const size_t bytes : {60, 1919, 1920, 1921, 3839, 3840, 3841, 4096, 8000, 9014}) {
            const frame in = make_frame(bytes, ++number);
            ASSERT_TRUE(wire.send(in));
            EXPECT_EQ(p.receive(), in) << bytes << mode;
            for (const size_t part : {500, 1000, 2048}) {
                if (bytes / part > 15) continue;
                const frame out = make_frame(bytes, ++number);
                ASSERT_TRUE(p.send(to_mbuf(pool, out, part)));
                EXPECT_EQ(p.arrives(wire), out) << bytes << " in parts of " << part << mode;
            }
        }
        EXPECT_EQ(p.xstats().at("tx_copied"), 0u);
    }
}

TEST_F(xsk_port, tx_done_cleanup_counts_packets) {
    const cable wire("near", 9000);
    port p("net_xsk0", wire, pool, {.mtu = 9000, .scatter = true});
    p.start();
    const frame f = make_frame(3000, 1);
    for (uint32_t i = 0; i < 4; ++i) {
        ASSERT_TRUE(p.send(to_mbuf(pool, f, 1000)));
        ASSERT_EQ(p.arrives(wire), f);
    }
    ASSERT_TRUE(within(1, [&] { return rte_eth_tx_done_cleanup(p.id, 0, 1) == 1; }));
    EXPECT_EQ(rte_mempool_in_use_count(pool), 256u + 3 * 3) << "one packet of four is freed";
    int left = 3;
    EXPECT_TRUE(within(1, [&] { return (left -= rte_eth_tx_done_cleanup(p.id, 0, 0)) == 0; }));
    EXPECT_EQ(rte_mempool_in_use_count(pool), 256u);
}

TEST_F(xsk_port, buffers_longer_than_a_chunk) {
    rte_mempool* large = make_pool("large", 512, 10000);
    {
        const cable wire("near", 9000);
        port p("net_xsk0", wire, large, {.mtu = 9000, .scatter = true});
        p.start();
        for (const size_t bytes : {60, 4096, 4097, 8192, 8193, 9014}) {
            const frame in = make_frame(bytes, 1), out = make_frame(bytes, 2);
            ASSERT_TRUE(wire.send(in));
            EXPECT_EQ(p.receive(), in) << bytes;
            ASSERT_TRUE(p.send(to_mbuf(large, out)));
            EXPECT_EQ(p.arrives(wire), out) << bytes;
        }
        EXPECT_EQ(p.xstats().at("tx_copied"), 0u);
    }
    EXPECT_EQ(rte_mempool_in_use_count(large), 0u);
    rte_mempool_free(large);
}

/// Copied where it cannot be sent as it lies, and the frame is the same.
TEST_F(xsk_port, buffers_from_elsewhere_are_copied_and_counted) {
    const cable wire("near");
    rte_mempool* other = make_pool("other", 256);
    {
        port p("net_xsk0", wire, pool);
        p.start();
        uint64_t copies = 0;
        const auto send = [&](rte_mbuf* m, const frame& f, const char* what) {
            ASSERT_TRUE(p.send(m)) << what;
            EXPECT_EQ(p.arrives(wire), f) << what;
            EXPECT_EQ(p.xstats().at("tx_copied"), copies) << what;
        };
        const frame f = make_frame(1000, 1);
        ++copies;
        send(to_mbuf(other, f), f, "another pool's");
        ++copies;
        send(to_mbuf(pool, f, 300), f, "a chain, without the socket's multi-buffer mode");
        rte_mbuf* direct = to_mbuf(pool, f);
        rte_mbuf* clone = rte_pktmbuf_clone(direct, pool);
        ++copies;
        send(clone, f, "a clone");
        send(direct, f, "the original of the clone");
        rte_mbuf* twice = to_mbuf(pool, f);
        rte_mbuf_refcnt_update(twice, 1);
        rte_mbuf* both[] = {twice, twice};
        ASSERT_EQ(rte_eth_tx_burst(p.id, 0, both, 2), 2u);
        EXPECT_EQ(p.arrives(wire), f);
        EXPECT_EQ(p.arrives(wire), f);
        EXPECT_EQ(p.xstats().at("tx_copied"), copies + 1) << "the same buffer twice at once";
    }
    EXPECT_EQ(rte_mempool_in_use_count(other), 0u);
    rte_mempool_free(other);
}

TEST_F(xsk_port, frames_that_cannot_be_sent_are_dropped_and_counted) {
    const cable wire("near");
    port p("net_xsk0", wire, pool);
    p.start();
    ASSERT_TRUE(p.send(to_mbuf(pool, make_frame(13, 1))));
    ASSERT_TRUE(p.send(to_mbuf(pool, make_frame(9000, 1))));
    EXPECT_EQ(p.xstats().at("tx_refused"), 2u);
    rte_eth_stats stats{};
    rte_eth_stats_get(p.id, &stats);
    EXPECT_EQ(stats.oerrors, 2u);
    const frame good = make_frame(64, 2);
    ASSERT_TRUE(p.send(to_mbuf(pool, good)));
    EXPECT_EQ(p.arrives(wire), good);
}

}  // namespace
}  // namespace turnpike::test
