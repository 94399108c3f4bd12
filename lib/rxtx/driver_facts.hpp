// SPDX-License-Identifier: BSD-3-Clause
// What is known of DPDK's drivers that ethdev does not tell: the one table of it.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike::rxtx {

struct driver_facts {
    std::string_view driver{};  ///< prefix of rte_eth_dev_info::driver_name

    // Descriptors handled together; 0 leaves the driver's own default.
    uint16_t rx_free = 0;  ///< RX descriptors refilled in one block, one tail write each
    uint16_t tx_rs = 0;    ///< TX descriptors between two write-back requests (RS bits)
    uint16_t tx_free = 0;  ///< TX descriptors freed in one block

    // What it makes of a receive buffer: where a frame begins, and how much of it is used.
    uint16_t rx_headroom_bytes = 128;  ///< RTE_PKTMBUF_HEADROOM
    uint16_t rx_buffer_most_bytes = UINT16_MAX;

    /// It reports 1,518 bytes as its longest frame but carries what its interface's MTU permits.
    bool understates_mtu = false;
    /// It takes as many TX queues as RX queues, and no other number.
    bool queues_in_pairs = false;
    /// It puts 802.1Q tags in only where its packets pass rte_eth_tx_prepare(), which a worker spares itself.
    bool inserts_tags_when_prepared = false;
    /// It lets no frame with an 802.1Q tag in, but where it takes every frame.
    bool filters_tags = false;
    /// Asked to check checksums, it lets frames in whose checksums their senders left to a device, unfinished
    /// (RTE_MBUF_F_RX_L4_CKSUM_NONE): they may not go on so.
    bool lets_unfinished_in = false;
    /// It does not give the buffers of its rings back to the pool when it is closed.
    bool keeps_buffers = false;
    /// It sends frames of its own, from buffers of its own, when it is called to send: each TX queue wants a
    /// call within tx_call_ms, be there packets or not, and buffers of its queues have several pools.
    bool sends_its_own = false;
};

/// How often drivers that send their own are called: net_bonding says every 100 ms at least.
inline constexpr uint64_t tx_call_ms = 20;

/// What is known of `driver`; all defaults where nothing is. Threads: any. Errors: none.
const driver_facts& facts_of(std::string_view driver) noexcept;

}  // namespace turnpike::rxtx
