// SPDX-License-Identifier: BSD-3-Clause
// net_simnicN: probe and remove the virtual device.
#include <rte_cycles.h>

#include "device.hpp"
#include "eal/simd_bitwidth.hpp"
#include "memory_source.hpp"
#include "vdev_port.hpp"
#include "wire/cable.hpp"
#include "wire/capture.hpp"
#include "wire/generator.hpp"
#include "wire/record.hpp"
#include "wire/sink.hpp"
#include "wire/tap.hpp"

namespace turnpike::simnic {

int log_type = ethdev::first_log_type;

namespace {

constexpr uint16_t max_generators = 16;  // checker::sources

/// A port's default MAC address: locally administered, "SN", the port's number.
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
            if (port >= max_generators)
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
    std::unique_ptr<device> d(new device{.arguments = *parsed});
    d->mac = parsed->mac.is_zero() ? made_mac(port) : parsed->mac;
    d->ether_mac = vdev::to_ether(d->mac);
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
                                                      .cold = parsed->cold,
                                                      .tsc_hz = rte_get_tsc_hz(),
                                                      .rx_queues = parsed->queues,
                                                      .tx_queues = parsed->queues},
                                      eal_memory, eal_memory_generation(), std::move(*line));
    d->nic->filter().own = d->mac;
    if (parsed->threaded) d->thread = std::make_unique<engine_thread>(*d->nic);
    return d;
}

void complain(const char* name, const char* what) noexcept {
    SIMNIC_LOG(ERR, "%s: %s\n", name, what);
}

uint32_t device_flags(const device& d) noexcept {
    return d.arguments.vanish_ms != 0 ? RTE_ETH_DEV_INTR_RMV : 0;
}

constexpr vdev::driver<device> vdev_driver{.make = make_device,
                                           .operations = operations,
                                           .complain = complain,
                                           .rx_burst = vdev::burst<rx_queue>,
                                           .tx_burst = vdev::burst<tx_queue>,
                                           .tx_prepare = tx_prepare,
                                           .flags = device_flags};

int probe(rte_vdev_device* vdev) noexcept { return vdev::probe(vdev_driver, vdev); }

memory_range range_of(void* at, uint64_t iova, size_t bytes) noexcept {
    return {iova, bytes, static_cast<uint8_t*>(at)};
}
int dma_map(rte_vdev_device*, void* at, uint64_t iova, size_t bytes) noexcept {
    return map_memory(range_of(at, iova, bytes));
}
int dma_unmap(rte_vdev_device*, void* at, uint64_t iova, size_t bytes) noexcept {
    return unmap_memory(range_of(at, iova, bytes));
}

// constinit: the registering constructor may run before any other initializer of this file.
constinit rte_vdev_driver simnic_driver{.next = {},
                                        .driver = {},
                                        .probe = probe,
                                        .remove = vdev::remove,
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
RTE_PMD_REGISTER_PARAM_STRING(net_simnic, SIMNIC_PARAMETERS);
#endif
