// SPDX-License-Identifier: BSD-3-Clause
#include "rxtx/driver_facts.hpp"

namespace turnpike::rxtx {
namespace {

// DPDK 22.11's PMDs batch by 32 (the vector paths of ixgbe, i40e, ice, iavf require it for tx_rs
// and rearm RX in blocks of 32, ice with AVX of 64). igb has WTHRESH in place of an RS threshold.
// virtio, vmxnet3, mlx5 and the software drivers have no thresholds: keep their defaults.
// I40E_TX_MIN_PKT_LEN, ICE_TX_MIN_PKT_LEN, IAVF_TX_MIN_PKT_LEN: checked by tx_prepare only.
constexpr driver_facts table[] = {
    {.driver = "net_ixgbe", .rx_free = 32, .tx_rs = 32, .tx_free = 32},
    {.driver = "net_i40e", .rx_free = 32, .tx_rs = 32, .tx_free = 32, .min_tx_bytes = 17},
    {.driver = "net_iavf", .rx_free = 32, .tx_rs = 32, .tx_free = 32, .min_tx_bytes = 17},
    {.driver = "net_ice", .rx_free = 64, .tx_rs = 32, .tx_free = 32, .min_tx_bytes = 17},
    {.driver = "net_e1000_em", .rx_free = 32, .tx_rs = 32, .tx_free = 32},
    {.driver = "net_e1000_igb", .rx_free = 32},
    // Its RX defaults follow its profile.
    {.driver = "net_simnic", .tx_rs = 32, .tx_free = 32},
    // drivers/net/xsk/frames.hpp: XDP's headroom, a UMEM's maximum chunk size.
    {.driver = "net_xsk", .rx_headroom_bytes = 256, .max_rx_buffer_bytes = 4096},
    // eth_dev_info() of rte_eth_af_packet.c: max_rx_pktlen is a constant. rte_pmd_init_internals(): the
    // socket has a protocol and a ring before bind(), so until then it receives from every interface
    // of the network namespace (packet(7)).
    {.driver = "net_af_packet", .understates_mtu = true, .receives_others = true},
    // tap_dev_configure() of rte_eth_tap.c.
    {.driver = "net_tap", .queues_in_pairs = true},
    // mana_dev_configure(), bnx2x_dev_configure(), eth_dev_configure() of rte_eth_af_xdp.c.
    {.driver = "net_mana", .queues_in_pairs = true},
    {.driver = "net_bnx2x", .queues_in_pairs = true},
    // Also virtio_user. VIRTIO_NET_F_CTRL_VLAN is negotiated even without VLAN filtering (VIRTIO_PMD_DEFAULT_GUEST_FEATURES), and the device's
    // filter starts without any VLAN. RTE_ETH_RX_OFFLOAD_UDP_CKSUM is VIRTIO_NET_F_GUEST_CSUM
    // (virtio_dev_configure() of virtio_ethdev.c). virtio_dev_start() enables max(RX, TX) pairs of queues, and the device
    // distributes flows to all of them (virtio 1.2, 5.1.6.5.5).
    {.driver = "net_virtio",
     .queues_in_pairs = true,
     .filters_tags = true,
     .lets_unfinished_in = true},
    // The backend's side: VIRTIO_NET_F_CSUM.
    {.driver = "net_vhost", .lets_unfinished_in = true},
    // bond_ethdev_mode_set() of rte_eth_bond_pmd.c: LACPDUs are sent by tx_burst only.
    {.driver = "net_bonding",
     .min_tx_bytes = 17,
     .sends_by_others = true,
     .needs_periodic_tx = true},
    {.driver = "net_failsafe", .min_tx_bytes = 17, .sends_by_others = true},
    // xdp_umem_destroy() of rte_eth_af_xdp.c frees the UMEM, not the mbufs in its rings.
    {.driver = "net_af_xdp", .queues_in_pairs = true, .keeps_buffers = true},
};
constexpr driver_facts unknown{};

}  // namespace

const driver_facts& facts_of(std::string_view driver) noexcept {
    for (const driver_facts& row : table)
        if (driver.substr(0, row.driver.size()) == row.driver) return row;
    return unknown;
}

}  // namespace turnpike::rxtx
