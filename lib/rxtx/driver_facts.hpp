// SPDX-License-Identifier: BSD-3-Clause
// Properties of DPDK drivers that ethdev does not report.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike::rxtx {

struct driver_facts {
    std::string_view driver{};  ///< prefix of rte_eth_dev_info::driver_name

    // Descriptors processed together; 0: the driver's default.
    uint16_t rx_free = 0;  ///< RX descriptors refilled in one block, one tail write each
    uint16_t tx_rs = 0;    ///< TX descriptors between two write-back requests (RS bits)
    uint16_t tx_free = 0;  ///< TX descriptors freed in one block

    // Use of a receive buffer: headroom, and maximum length.
    uint16_t rx_headroom_bytes = 128;  ///< RTE_PKTMBUF_HEADROOM
    uint16_t max_rx_buffer_bytes = UINT16_MAX;

    /// A shorter frame must not be sent: the transmit queue would stop for good.
    uint16_t min_tx_bytes = 0;

    /// Reports 1,518 bytes as its longest frame but carries frames up to its interface's MTU.
    bool understates_mtu = false;
    /// Its RX rings may contain frames of other interfaces before it starts.
    bool receives_others = false;
    /// Has RX and TX queues in pairs: it refuses more TX queues than RX queues, or its device delivers packets also to RX queues
    /// that were not set up.
    bool queues_in_pairs = false;
    /// Drops frames with an 802.1Q tag unless the port is promiscuous.
    bool filters_tags = false;
    /// With RX checksum offload, delivers frames whose sender left the checksum to a device
    /// (RTE_MBUF_F_RX_L4_CKSUM_NONE): they must not be forwarded with that checksum.
    bool lets_unfinished_in = false;
    /// Sends by other drivers' devices.
    bool sends_by_others = false;
    /// Does not return the buffers of its rings to the pool at close.
    bool keeps_buffers = false;
    /// The driver itself generates frames (LACPDUs), from its own buffers, within tx_burst: each TX
    /// queue needs a call every tx_call_ms, with or without packets, and its queues hold buffers of
    /// several pools.
    bool needs_periodic_tx = false;
};

/// Call interval for drivers that generate frames: net_bonding requires at most 100 ms.
inline constexpr uint64_t tx_call_ms = 20;

/// The properties of `driver`; defaults if it is unknown. Threads: any. Errors: none.
const driver_facts& facts_of(std::string_view driver) noexcept;

}  // namespace turnpike::rxtx
