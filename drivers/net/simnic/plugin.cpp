// SPDX-License-Identifier: BSD-3-Clause
// net_simnicN: probing and removing the virtual device.
#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_cycles.h>

#include <cstring>
#include <exception>

#include "device.hpp"
#include "eal/simd_bitwidth.hpp"
#include "memory_source.hpp"
#include "wire/cable.hpp"
#include "wire/capture.hpp"
#include "wire/generator.hpp"
#include "wire/record.hpp"
#include "wire/sink.hpp"
#include "wire/tap.hpp"

namespace turnpike::simnic {

int log_type = ethdev::first_log_type;

namespace {

constexpr uint16_t most_generators = 16;  // checker::sources

/// A port's own address: locally administered, "SN", the port's number.
packet::mac_address made_mac(uint16_t port) noexcept {
    return {{0x02, 0x53, 0x4e, 0x00, static_cast<uint8_t>(port >> 8), static_cast<uint8_t>(port)}};
}

result<std::unique_ptr<wire>> make_wire(const device& d, const std::string& name, uint16_t port) {
    const device_arguments& a = d.arguments;
    const auto hz = static_cast<double>(rte_get_tsc_hz());
    const double per_byte = a.link_gbps > 0 ? hz * 8 / (a.link_gbps * 1e9) : 0;
    const pace paced(per_byte, a.traffic.rate_pps > 0 ? hz / a.traffic.rate_pps : 0);
    switch (a.wire) {
        case wire_kind::gen: {
            if (port >= most_generators)
                return fail(EINVAL, "wire=gen",
                            "only ports 0 to 15 can have a generator; this is port " +
                                std::to_string(port));
            return std::make_unique<generator>(a.traffic, paced, port, d.mac);
        }
        case wire_kind::peer:
            return cable::connect(name, a.wire_name);
        case wire_kind::tap:
            return tap::open(a.wire_name);
        case wire_kind::pcap:
            return capture::open(a.wire_name,
                                 {a.traffic.dst_mac, a.traffic.src_ip, a.traffic.dst_ip}, paced);
        case wire_kind::record:
            return record::open(a.wire_name);
        case wire_kind::sink:
            break;
    }
    return std::make_unique<sink>();
}

result<std::unique_ptr<device>> make_device(const std::string& name, std::string_view arguments,
                                            uint16_t port) {
    auto parsed = parse_arguments(arguments);
    if (!parsed) return tl::unexpected<error>(parsed.error());
    auto d = std::make_unique<device>(device{.arguments = *parsed});
    d->mac = parsed->mac.is_zero() ? made_mac(port) : parsed->mac;
    std::memcpy(d->ether_mac.addr_bytes, d->mac.bytes, sizeof d->mac.bytes);
    const auto kernels = isa::choose(burst_kernel_table(), name, eal::max_simd_bitwidth());
    if (!kernels) return tl::unexpected<error>(kernels.error());
    d->kernels = *kernels;
    auto line = make_wire(*d, name, port);
    if (!line) return tl::unexpected<error>(line.error());
    if (parsed->impaired.any())
        *line = std::make_unique<impaired>(std::move(*line), parsed->impaired, rte_get_tsc_hz());
    d->nic = std::make_unique<engine>(engine_settings{.policy = parsed->policy,
                                                      .link = parsed->link,
                                                      .link_gbps = parsed->link_gbps,
                                                      .tsc_hz = rte_get_tsc_hz(),
                                                      .rx_queues = parsed->queues,
                                                      .tx_queues = parsed->queues},
                                      eal_memory, eal_memory_generation(), std::move(*line));
    d->nic->filter().own = d->mac;
    if (parsed->threaded) d->thread = std::make_unique<engine_thread>(*d->nic);
    return d;
}

int probe(rte_vdev_device* vdev) noexcept {
    const char* name = rte_vdev_device_name(vdev);
    if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
        SIMNIC_LOG(ERR, "%s: works in the primary process only\n", name);
        return -ENOTSUP;
    }
    rte_eth_dev* dev = rte_eth_vdev_allocate(vdev, 0);
    if (dev == nullptr) return -ENOMEM;
    int code = -ENOMEM;
    try {
        auto made = make_device(name, rte_vdev_device_args(vdev), dev->data->port_id);
        if (made) {
            dev->data->dev_private = made->get();
            dev->data->mac_addrs = &(*made)->ether_mac;
            made->release();
            dev->data->dev_flags |= RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
            dev->dev_ops = &operations();
            dev->rx_pkt_burst = rx_burst;
            dev->tx_pkt_burst = tx_burst;
            dev->tx_pkt_prepare = tx_prepare;
            rte_eth_dev_probing_finish(dev);
            return 0;
        }
        SIMNIC_LOG(ERR, "%s: %s\n", name, made.error().message().c_str());
        code = -made.error().code;
    } catch (const std::exception& e) {
        SIMNIC_LOG(ERR, "%s: %s\n", name, e.what());
    }
    rte_eth_dev_release_port(dev);
    return code;
}

int remove(rte_vdev_device* vdev) noexcept {
    rte_eth_dev* dev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));
    if (dev == nullptr) return 0;  // closed already
    close(dev);
    return rte_eth_dev_release_port(dev);
}

/// The device finds memory by itself when it meets it: nothing to be told.
int dma_map(rte_vdev_device*, void*, uint64_t, size_t) noexcept { return 0; }
int dma_unmap(rte_vdev_device*, void*, uint64_t, size_t) noexcept { return 0; }

// Constant: it is registered by a constructor that may run before any other of this file.
constinit rte_vdev_driver simnic_driver{.next = {},
                                        .driver = {},
                                        .probe = probe,
                                        .remove = remove,
                                        .dma_map = dma_map,
                                        .dma_unmap = dma_unmap,
                                        .drv_flags = 0};

RTE_INIT(simnic_log_init) {
    const int type = rte_log_register_type_and_pick_level("pmd.net.simnic", RTE_LOG_NOTICE);
    if (type >= 0) log_type = type;
}

}  // namespace
}  // namespace turnpike::simnic

using turnpike::simnic::simnic_driver;
#ifdef SIMNIC_UNCOUNTED
RTE_PMD_REGISTER_VDEV(net_uncounted_simnic, simnic_driver);
#else
RTE_PMD_REGISTER_VDEV(net_simnic, simnic_driver);
RTE_PMD_REGISTER_PARAM_STRING(
    net_simnic,
    "profile=<ixgbe|i40e|ice|e1000|igb|niantic-dpdk> pcie=<gen3x8> mps=<bytes> mrrs=<bytes> "
    "engine=<inline|thread> engine_cpu=<n> link=<0|10|25|40|100> queues=<n> mac=<mac> "
    "wire=<sink|gen|peer:NAME|tap:NAME|pcap:FILE|record:FILE> size=<64|imix|a-b> l2flows=<n> "
    "l3flows=<n> ip=<4|6> dst_mac=<mac> src=<ipv4> dst=<ipv4> rate=<pps> loss=<share> "
    "duplicate=<share> reorder=<share> corrupt=<share> delay=<us> seed=<n> flap=<up-down ms>");
#endif
