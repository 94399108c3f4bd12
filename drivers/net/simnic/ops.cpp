// SPDX-License-Identifier: BSD-3-Clause
// ethdev operations of the port, except queues and counters.
#include <ethdev_driver.h>
#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <cstdio>

#include "device.hpp"
#include "vdev_port.hpp"

namespace turnpike::simnic {
namespace {

constexpr uint32_t vlan_bytes = 4;
constexpr uint32_t least_buffer_bytes = 512;  // so that the longest frame takes at most 20
constexpr uint64_t checksum_offloads =
    RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM;
constexpr uint64_t rx_offloads = checksum_offloads | RTE_ETH_RX_OFFLOAD_RSS_HASH |
                                 RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_SCATTER;
constexpr uint64_t tx_offloads = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
                                 RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
                                 RTE_ETH_TX_OFFLOAD_VLAN_INSERT | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;

/// rxmode.offloads holds the enabled VLAN offloads already.
int vlan_offload_set(rte_eth_dev* dev, int) noexcept {
    const uint64_t offloads = dev->data->dev_conf.rxmode.offloads;
    device_of(dev).nic->filter().strip_tags.store((offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0,
                                                  std::memory_order_relaxed);
    return 0;
}

int configure(rte_eth_dev* dev) noexcept {
    const uint64_t offloads = dev->data->dev_conf.rxmode.offloads;
    device_of(dev).nic->filter().verify_checksums.store((offloads & checksum_offloads) != 0,
                                                        std::memory_order_relaxed);
    (void)vlan_offload_set(dev, RTE_ETH_VLAN_STRIP_MASK);
    device& d = device_of(dev);
    d.timestamp_flag = 0;
    if ((offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0 &&
        rte_mbuf_dyn_rx_timestamp_register(&d.timestamp_at, &d.timestamp_flag) != 0) {
        SIMNIC_LOG(ERR, "cannot register the mbuf timestamp field\n");
        return -rte_errno;
    }
    return configure_rss(dev);
}

int infos_get(rte_eth_dev* dev, rte_eth_dev_info* info) noexcept {
    const device& d = device_of(dev);
    info->max_rx_queues = info->max_tx_queues = d.arguments.queues;
    info->max_mac_addrs = 1;
    info->min_rx_bufsize = least_buffer_bytes;
    info->max_rx_pktlen = max_frame_bytes + fcs_bytes;
    info->min_mtu = RTE_ETHER_MIN_MTU;
    info->max_mtu = static_cast<uint16_t>(max_frame_bytes - RTE_ETHER_HDR_LEN - vlan_bytes);
    // 16-byte descriptors have no room for a timestamp.
    const bool wide = d.arguments.policy.rx.descriptor_bytes == 2 * sizeof(descriptor);
    info->rx_offload_capa = rx_offloads | (wide ? RTE_ETH_RX_OFFLOAD_TIMESTAMP : 0);
    info->tx_offload_capa = info->tx_queue_offload_capa = tx_offloads;
    info->rx_queue_offload_capa = 0;
    info->flow_type_rss_offloads = rss_offloads();
    info->hash_key_size = rss::key_bytes;
    info->reta_size = rss::table_entries;
    const rte_eth_desc_lim limits{.nb_max = ring_most,
                                  .nb_min = ring_least,
                                  .nb_align = ring_multiple,
                                  .nb_seg_max = max_segments,
                                  .nb_mtu_seg_max = max_segments};
    info->rx_desc_lim = info->tx_desc_lim = limits;
    info->default_rxconf.rx_free_thresh =
        static_cast<uint16_t>(d.arguments.policy.rx.free_threshold);
    info->default_txconf.tx_rs_thresh = info->default_txconf.tx_free_thresh = 32;
    info->default_rxportconf = {.burst_size = 32, .ring_size = ring_default, .nb_queues = 1};
    info->default_txportconf = info->default_rxportconf;
    info->speed_capa = RTE_ETH_LINK_SPEED_10G | RTE_ETH_LINK_SPEED_25G | RTE_ETH_LINK_SPEED_40G |
                       RTE_ETH_LINK_SPEED_100G;
    return 0;
}

int link_update(rte_eth_dev* dev, int) noexcept {
    const device& d = device_of(dev);
    rte_eth_link link{};
    link.link_speed = d.arguments.link_gbps > 0
                          ? static_cast<uint32_t>(d.arguments.link_gbps * 1000)
                          : uint32_t{RTE_ETH_SPEED_NUM_UNKNOWN};
    link.link_duplex = RTE_ETH_LINK_FULL_DUPLEX;
    link.link_autoneg = RTE_ETH_LINK_FIXED;
    link.link_status = d.started && d.nic->link_up() ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
    return rte_eth_linkstatus_set(dev, &link);
}

int set_link(rte_eth_dev* dev, bool up) noexcept {
    device_of(dev).nic->set_link(up);
    (void)link_update(dev, 0);  // returns whether the link changed
    return 0;
}
int set_link_up(rte_eth_dev* dev) noexcept {
    return device_of(dev).nic->gone() ? -ENODEV : set_link(dev, true);
}
int set_link_down(rte_eth_dev* dev) noexcept { return set_link(dev, false); }

int set_promiscuous(rte_eth_dev* dev, bool on) noexcept {
    device_of(dev).nic->filter().promiscuous.store(on, std::memory_order_relaxed);
    return 0;
}
int promiscuous_enable(rte_eth_dev* dev) noexcept { return set_promiscuous(dev, true); }
int promiscuous_disable(rte_eth_dev* dev) noexcept { return set_promiscuous(dev, false); }

int set_all_multicast(rte_eth_dev* dev, bool on) noexcept {
    device_of(dev).nic->filter().all_multicast.store(on, std::memory_order_relaxed);
    return 0;
}
int all_multicast_enable(rte_eth_dev* dev) noexcept { return set_all_multicast(dev, true); }
int all_multicast_disable(rte_eth_dev* dev) noexcept { return set_all_multicast(dev, false); }

int mac_set(rte_eth_dev* dev, rte_ether_addr* mac) noexcept {
    engine& nic = *device_of(dev).nic;
    nic.exclusively([&] { nic.filter().own = vdev::to_mac(*mac); });
    return 0;
}

int mc_list_set(rte_eth_dev* dev, rte_ether_addr* list, uint32_t n) noexcept {
    if (n > rx_filter::most) return -ENOSPC;
    engine& nic = *device_of(dev).nic;
    nic.exclusively([&] {
        for (uint32_t i = 0; i < n; ++i) nic.filter().also[i] = vdev::to_mac(list[i]);
        nic.filter().also_count = n;
    });
    return 0;
}

int mtu_set(rte_eth_dev* dev, uint16_t mtu) noexcept {
    for (uint16_t q = 0; q < dev->data->nb_rx_queues; ++q) {
        const auto* rx = static_cast<rx_queue*>(dev->data->rx_queues[q]);
        if (rx == nullptr) continue;
        if (rx->scattered() || mtu + uint32_t{RTE_ETHER_HDR_LEN} <= rx->room()) continue;
        if (!rx->configured().scatter) {
            SIMNIC_LOG(ERR,
                       "mtu %u: a frame does not fit a buffer of %u bytes; with "
                       "RTE_ETH_RX_OFFLOAD_SCATTER it takes several\n",
                       mtu, rx->room());
            return -EINVAL;
        }
        if (rx->running()) {
            SIMNIC_LOG(
                ERR, "mtu %u: stop the port first, so that frames can take several buffers\n", mtu);
            return -EBUSY;
        }
    }
    return 0;
}

/// The clock of RX timestamps.
int read_clock(rte_eth_dev* dev, uint64_t* now) noexcept {
    *now = clock_ticks(device_of(dev).arguments.clock, rte_rdtsc(), rte_get_tsc_hz());
    return 0;
}

int burst_mode(rte_eth_dev* dev, rte_eth_burst_mode* mode) noexcept {
    const std::string_view isa = device_of(dev).kernels->name;
    std::snprintf(mode->info, sizeof mode->info, "%.*s", static_cast<int>(isa.size()), isa.data());
    return 0;
}
int rx_burst_mode(rte_eth_dev* dev, uint16_t, rte_eth_burst_mode* mode) noexcept {
    return burst_mode(dev, mode);
}
int tx_burst_mode(rte_eth_dev* dev, uint16_t, rte_eth_burst_mode* mode) noexcept {
    return burst_mode(dev, mode);
}

const uint32_t* ptypes_get(rte_eth_dev*) noexcept {
    static const uint32_t all[] = {
        RTE_PTYPE_L2_ETHER,      RTE_PTYPE_L2_ETHER_ARP, RTE_PTYPE_L2_ETHER_VLAN,
        RTE_PTYPE_L2_ETHER_QINQ, RTE_PTYPE_L3_IPV4,      RTE_PTYPE_L3_IPV4_EXT,
        RTE_PTYPE_L3_IPV6,       RTE_PTYPE_L3_IPV6_EXT,  RTE_PTYPE_L4_TCP,
        RTE_PTYPE_L4_UDP,        RTE_PTYPE_L4_FRAG,      RTE_PTYPE_L4_SCTP,
        RTE_PTYPE_L4_ICMP,       RTE_PTYPE_UNKNOWN};
    return all;
}

/// Free the buffers in the rings; the device has released them.
void empty_queues(rte_eth_dev* dev) noexcept {
    for (uint16_t q = 0; q < dev->data->nb_rx_queues; ++q)
        static_cast<rx_queue*>(dev->data->rx_queues[q])->stop();
    for (uint16_t q = 0; q < dev->data->nb_tx_queues; ++q)
        static_cast<tx_queue*>(dev->data->tx_queues[q])->stop();
}

void detach_rings(rte_eth_dev* dev) noexcept {
    engine& nic = *device_of(dev).nic;
    nic.exclusively([&] {
        nic.set_queues(0, 0);
        for (uint16_t q = 0; q < dev->data->nb_rx_queues; ++q) nic.rx(q).detach();
        for (uint16_t q = 0; q < dev->data->nb_tx_queues; ++q) nic.tx(q).detach();
    });
}

void show_queue_states(rte_eth_dev* dev) noexcept {
    const rte_eth_dev_data& data = *dev->data;
    vdev::show_queue_states(
        dev, [&](uint16_t q) { return static_cast<rx_queue*>(data.rx_queues[q])->running(); },
        [&](uint16_t q) { return static_cast<tx_queue*>(data.tx_queues[q])->running(); });
}

int is_removed(rte_eth_dev* dev) noexcept { return device_of(dev).nic->gone() ? 1 : 0; }

/// Device removal, reported from EAL's interrupt thread as real drivers do.
void vanish(void* argument) noexcept {
    auto* dev = static_cast<rte_eth_dev*>(argument);
    device_of(dev).nic->vanish();
    (void)link_update(dev, 0);
    SIMNIC_LOG(NOTICE, "%s: the device is gone (vanish=)\n", dev->data->name);
    if (dev->data->dev_conf.intr_conf.rmv != 0)
        rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_RMV, nullptr);
}

int start(rte_eth_dev* dev) noexcept {
    device& d = device_of(dev);
    if (d.nic->gone()) return -ENODEV;
    const int whole = vdev::guarded([dev] {
        const auto checked = vdev::check_queues_set_up(dev);
        if (checked) return 0;
        SIMNIC_LOG(ERR, "%s: %s\n", dev->data->name, checked.error().message().c_str());
        return -checked.error().code;
    });
    if (whole != 0) return whole;
    bool good = true;
    d.nic->set_link(true);
    d.nic->exclusively([&] {
        for (uint16_t q = 0; q < dev->data->nb_rx_queues; ++q)
            if (auto* rx = static_cast<rx_queue*>(dev->data->rx_queues[q]);
                !rx->configured().deferred)
                good = rx->start(vdev::longest_frame_bytes(dev->data->mtu)) && good;
        for (uint16_t q = 0; q < dev->data->nb_tx_queues; ++q)
            if (auto* tx = static_cast<tx_queue*>(dev->data->tx_queues[q]);
                !tx->configured().deferred)
                tx->start(dev->data->dev_conf.txmode.offloads);
        if (good) d.nic->set_queues(dev->data->nb_rx_queues, dev->data->nb_tx_queues);
    });
    if (!good) {
        SIMNIC_LOG(ERR, "the pool has too few buffers to fill the rings\n");
        detach_rings(dev);
        empty_queues(dev);
        return -ENOMEM;
    }
    if (d.thread) {
        if (const auto running = d.thread->start(d.arguments.engine_cpu); !running) {
            SIMNIC_LOG(ERR, "%s\n", running.error().message().c_str());
            detach_rings(dev);
            empty_queues(dev);
            return -running.error().code;
        }
    }
    d.started = true;
    dev->data->scattered_rx = 0;
    for (uint16_t q = 0; q < dev->data->nb_rx_queues; ++q)
        if (static_cast<rx_queue*>(dev->data->rx_queues[q])->scattered())
            dev->data->scattered_rx = 1;
    show_queue_states(dev);
    link_update(dev, 0);
    if (d.arguments.vanish_ms != 0)
        rte_eal_alarm_set(uint64_t{d.arguments.vanish_ms} * 1000, vanish, dev);
    return 0;
}

int stop(rte_eth_dev* dev) noexcept {
    device& d = device_of(dev);
    if (!d.started) return 0;
    if (d.arguments.vanish_ms != 0) rte_eal_alarm_cancel(vanish, dev);
    if (d.thread) d.thread->stop();
    d.nic->drain();
    detach_rings(dev);
    empty_queues(dev);
    d.started = false;
    dev->data->dev_started = 0;
    show_queue_states(dev);
    link_update(dev, 0);
    return 0;
}

int close(rte_eth_dev* dev) noexcept {
    return vdev::close<device>(dev, [](device&) {});
}

}  // namespace

uint16_t tx_prepare(void*, rte_mbuf** frames, uint16_t n) noexcept {
    return tx_queue::prepare(frames, n);
}

const eth_dev_ops& operations() noexcept {
    static const eth_dev_ops ops = [] {
        eth_dev_ops o{};
        o.dev_configure = configure;
        o.dev_start = start;
        o.dev_stop = stop;
        o.dev_close = close;
        o.is_removed = is_removed;
        o.dev_set_link_up = set_link_up;
        o.dev_set_link_down = set_link_down;
        o.link_update = link_update;
        o.promiscuous_enable = promiscuous_enable;
        o.promiscuous_disable = promiscuous_disable;
        o.allmulticast_enable = all_multicast_enable;
        o.allmulticast_disable = all_multicast_disable;
        o.mac_addr_set = mac_set;
        o.set_mc_addr_list = mc_list_set;
        o.mtu_set = mtu_set;
        o.read_clock = read_clock;
        o.stats_get = ethdev::stats_get<stats_get>;
        o.stats_reset = stats_reset;
        o.xstats_get = xstats_get;
        o.xstats_get_names = xstats_get_names;
        o.xstats_reset = xstats_reset;
        o.dev_infos_get = infos_get;
        o.rxq_info_get = rxq_info_get;
        o.txq_info_get = txq_info_get;
        o.rx_burst_mode_get = rx_burst_mode;
        o.tx_burst_mode_get = tx_burst_mode;
        o.dev_supported_ptypes_get = ethdev::ptypes_get<ptypes_get>;
        o.rx_queue_setup = rx_queue_setup;
        o.rx_queue_release = rx_queue_release;
        o.tx_queue_setup = tx_queue_setup;
        o.tx_queue_release = tx_queue_release;
        o.rx_queue_start = rx_queue_start;
        o.rx_queue_stop = rx_queue_stop;
        o.tx_queue_start = tx_queue_start;
        o.tx_queue_stop = tx_queue_stop;
        o.vlan_offload_set = vlan_offload_set;
        o.rss_hash_update = rss_hash_update;
        o.rss_hash_conf_get = rss_hash_conf_get;
        o.reta_update = reta_update;
        o.reta_query = reta_query;
        return o;
    }();
    return ops;
}

}  // namespace turnpike::simnic
