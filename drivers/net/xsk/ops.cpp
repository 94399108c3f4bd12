// SPDX-License-Identifier: BSD-3-Clause
// ethdev operations of the port, except queues and counters.
#include <ethdev_driver.h>

#include <exception>

#include "device.hpp"
#include "vdev_port.hpp"

namespace turnpike::xsk {
namespace {

// With buffers of the minimum UMEM chunk size.
constexpr uint32_t max_frame_bytes = max_frame_parts * (least_chunk_bytes - xdp_headroom_bytes);
constexpr uint32_t fcs_bytes = 4;

/// Log an error and convert it to a negative errno. Exceptions must not propagate into DPDK.
template <class Action>
int guarded(rte_eth_dev* dev, const Action& action) noexcept {
    device& d = device_of(dev);
    try {
        const std::lock_guard lock(d.mutex);
        const result<void> done = action(d);
        if (done) return 0;
        XSK_LOG(ERR, "%s: %s\n", d.name.c_str(), done.error().message().c_str());
        return -done.error().code;
    } catch (const std::exception& e) {
        XSK_LOG(ERR, "%s: %s\n", d.name.c_str(), e.what());
        return -ENOMEM;
    }
}

int configure(rte_eth_dev*) noexcept { return 0; }

int infos_get(rte_eth_dev* dev, rte_eth_dev_info* info) noexcept {
    const device& d = device_of(dev);
    info->if_index = d.ifindex;
    info->max_rx_queues = static_cast<uint16_t>(d.rx_queues);
    info->max_tx_queues = static_cast<uint16_t>(d.tx_queues);
    info->max_mac_addrs = 1;
    info->min_rx_bufsize = 1;  // layout_of() names the pool if its buffers are too short
    info->max_rx_pktlen = max_frame_bytes + fcs_bytes;
    info->min_mtu = RTE_ETHER_MIN_MTU;
    info->max_mtu = static_cast<uint16_t>(max_frame_bytes - RTE_ETHER_HDR_LEN - 2 * RTE_VLAN_HLEN);
    info->rx_offload_capa = RTE_ETH_RX_OFFLOAD_SCATTER;
    info->tx_offload_capa = info->tx_queue_offload_capa =
        RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
    const rte_eth_desc_lim limits{.nb_max = ring_most,
                                  .nb_min = ring_least,
                                  .nb_align = ring_least,
                                  .nb_seg_max = UINT16_MAX,
                                  .nb_mtu_seg_max = UINT16_MAX};
    info->rx_desc_lim = info->tx_desc_lim = limits;
    info->default_rxportconf = {.burst_size = 32, .ring_size = ring_default, .nb_queues = 1};
    info->default_txportconf = info->default_rxportconf;
    return 0;
}

/// Queues start and stop only with the port.
void show_queue_states(rte_eth_dev* dev) noexcept {
    const bool started = device_of(dev).started;
    const auto state = [started](uint16_t) { return started; };
    vdev::show_queue_states(dev, state, state);
}

int start(rte_eth_dev* dev) noexcept {
    const int code = guarded(dev, [dev](device& d) -> result<void> {
        if (d.started) return {};
        if (auto whole = vdev::check_queues_set_up(dev); !whole) return whole;
        if (auto same = d.interface.check_namespace(); !same) return same;
        const interface_state now = d.interface.state_now();
        if (now.index == 0) return fail(ENODEV, d.arguments.iface, "the interface is gone");
        if (now.index != d.ifindex || (d.program && !d.program->still_attached())) {
            detach_program(d);
            if (auto attached = attach_program(d, now); !attached) return attached;
            if (auto set = set_again(dev, now); !set) {
                detach_program(d);
                return set;
            }
        } else {
            if (!d.program)  // the pinned map may be another one now
                if (auto attached = attach_program(d, now); !attached) return attached;
            if (auto set = set_interface_mtu(dev, now); !set) return set;
        }
        if (auto opened = open_sockets(dev, now, true); !opened) return opened;
        d.started = true;
        d.complained = false;
        d.busy_looks = 0;
        d.failed_reopen = {};
        d.seen_mtu = d.seen_queues = 0;
        return {};
    });
    if (code != 0) return code;
    show_queue_states(dev);
    dev->data->scattered_rx = 0;
    for (uint16_t q = 0; q < dev->data->nb_rx_queues; ++q)
        if (rx_of(dev, q)->configured().scatter) dev->data->scattered_rx = 1;
    start_watch(dev);
    (void)link_update(dev, 0);  // the watch calls it again
    return 0;
}

/// change  void(reception&)
template <class Change>
int set_reception(rte_eth_dev* dev, const Change& change) noexcept {
    return guarded(dev, [&](device& d) -> result<void> {
        auto wanted = d.reception;
        change(wanted);
        if (auto set = d.interface.receive(wanted); !set) return set;
        d.reception = std::move(wanted);
        return {};
    });
}

int promiscuous_set(rte_eth_dev* dev, bool on) noexcept {
    return set_reception(dev, [on](auto& wanted) { wanted.promiscuous = on; });
}
int promiscuous_enable(rte_eth_dev* dev) noexcept { return promiscuous_set(dev, true); }
int promiscuous_disable(rte_eth_dev* dev) noexcept { return promiscuous_set(dev, false); }

int all_multicast_set(rte_eth_dev* dev, bool on) noexcept {
    return set_reception(dev, [on](auto& wanted) { wanted.all_multicast = on; });
}
int all_multicast_enable(rte_eth_dev* dev) noexcept { return all_multicast_set(dev, true); }
int all_multicast_disable(rte_eth_dev* dev) noexcept { return all_multicast_set(dev, false); }

int mc_list_set(rte_eth_dev* dev, rte_ether_addr* list, uint32_t n) noexcept {
    return set_reception(dev, [&](auto& wanted) {
        wanted.groups.clear();
        for (uint32_t i = 0; i < n; ++i) wanted.groups.push_back(vdev::to_mac(list[i]));
    });
}

int mac_set(rte_eth_dev* dev, rte_ether_addr* mac) noexcept {
    return guarded(dev, [mac](device& d) -> result<void> {
        const interface_state now = d.interface.state_now();
        follow_interface(d, now);
        if (now.mac == vdev::to_mac(*mac)) return {};  // ethdev calls it at every start
        if (auto set = d.interface.set_mac(vdev::to_mac(*mac)); !set) return set;
        if (!d.found.mac) d.found.mac = now.mac;
        return {};
    });
}

int mtu_set(rte_eth_dev* dev, uint16_t mtu) noexcept {
    return guarded(dev, [dev, mtu](device& d) -> result<void> {
        for (uint16_t q = 0; q < dev->data->nb_rx_queues; ++q)
            if (const rx_queue* rx = rx_of(dev, q))
                if (auto fits = check_frame_room(*rx, mtu); !fits) return fits;
        const interface_state now = d.interface.state_now();
        follow_interface(d, now);
        if (now.mtu != mtu) {
            if (auto set = d.interface.set_mtu(mtu); !set) return set;
            if (!d.found.mtu) d.found.mtu = now.mtu;
        }
        d.sets_mtu = true;
        return {};
    });
}

int stop(rte_eth_dev* dev) noexcept {
    device& d = device_of(dev);
    if (!d.started) return 0;
    stop_watch(dev);
    {
        const std::lock_guard lock(d.mutex);
        close_sockets(dev);
        d.started = false;
    }
    dev->data->dev_started = 0;
    show_queue_states(dev);
    return link_update(dev, 0);
}

int close(rte_eth_dev* dev) noexcept {
    return vdev::close<device>(dev, [](device& d) {
        detach_program(d);
        leave_as_found(d);
    });
}

}  // namespace

const eth_dev_ops& operations() noexcept {
    static const eth_dev_ops ops = [] {
        eth_dev_ops o{};
        o.dev_configure = configure;
        o.dev_start = start;
        o.dev_stop = stop;
        o.dev_close = close;
        o.link_update = link_update;
        o.promiscuous_enable = promiscuous_enable;
        o.promiscuous_disable = promiscuous_disable;
        o.allmulticast_enable = all_multicast_enable;
        o.allmulticast_disable = all_multicast_disable;
        o.set_mc_addr_list = mc_list_set;
        o.mac_addr_set = mac_set;
        o.mtu_set = mtu_set;
        o.stats_get = ethdev::stats_get<stats_get>;
        o.stats_reset = stats_reset;
        o.xstats_get = xstats_get;
        o.xstats_get_names = xstats_get_names;
        o.xstats_reset = xstats_reset;
        o.dev_infos_get = infos_get;
        o.rxq_info_get = rxq_info_get;
        o.txq_info_get = txq_info_get;
        o.rx_queue_setup = rx_queue_setup;
        o.rx_queue_release = rx_queue_release;
        o.tx_queue_setup = tx_queue_setup;
        o.tx_queue_release = tx_queue_release;
        o.tx_done_cleanup = tx_done_cleanup;
        return o;
    }();
    return ops;
}

}  // namespace turnpike::xsk
