// SPDX-License-Identifier: BSD-3-Clause
#include "rxtx/port.hpp"

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hardware.hpp"
#include "base/ifindex.hpp"
#include "rxtx/driver_facts.hpp"
#include "rxtx/driver_messages.hpp"
#include "rxtx/frame_room.hpp"

namespace turnpike::rxtx {
namespace {

/// By ethdev ID: open as a port. ethdev itself permits a second user of a running device.
std::array<std::atomic<bool>, RTE_MAX_ETHPORTS> open_devices;

/// By ethdev ID: the driver reported the removal of the device, or that it was reset, for which it has to be opened again
/// (ixgbevf, igbvf, iavf, txgbevf). It does so in EAL's interrupt thread, which must not close a port.
enum class presence : uint8_t { there, removed, reset };
std::array<std::atomic<presence>, RTE_MAX_ETHPORTS> devices;

int note_gone(uint16_t id, rte_eth_event_type event, void*, void*) noexcept {
    devices[id].store(event == RTE_ETH_EVENT_INTR_RESET ? presence::reset : presence::removed,
                      std::memory_order_release);
    return 0;
}
constexpr rte_eth_event_type gone_events[] = {RTE_ETH_EVENT_INTR_RMV, RTE_ETH_EVENT_INTR_RESET};

constexpr uint64_t rss_hash = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP;

result<uint16_t> find_port(const std::string& device) {
    const std::string name = device_name_of(device);
    uint16_t id = 0;
    if (rte_eth_dev_get_port_by_name(name.c_str(), &id) == 0) return id;
    rte_dev_iterator iterator;
    RTE_ETH_FOREACH_MATCHING_DEV(id, name.c_str(), &iterator) {
        rte_eth_iterator_cleanup(&iterator);
        return id;
    }
    return fail(ENODEV, "", "EAL created no port for device '" + name + "'");
}

/// The arguments of a device string; empty: none.
std::string arguments_of(const std::string& device) {
    const size_t comma = device.find(',');
    return comma == std::string::npos ? std::string() : device.substr(comma + 1);
}

bool is_virtual(const rte_eth_dev_info& info) {
    return info.device != nullptr &&
           std::string_view(rte_bus_name(rte_dev_bus(info.device))) == "vdev";
}

/// Whether EAL has a virtual device of this name with other arguments. EAL would ignore the port's arguments.
bool has_other_arguments(uint16_t id, const std::string& device) {
    rte_eth_dev_info info;
    if (arguments_of(device).empty() || rte_eth_dev_info_get(id, &info) != 0 || !is_virtual(info))
        return false;
    const rte_devargs* const had = rte_dev_devargs(info.device);
    return had != nullptr && arguments_of(device) != (had->args != nullptr ? had->args : "");
}

/// An interface of the kernel that a device's driver needs, and that does not exist; net_tap and virtio_user make theirs.
std::string missing_interface(const std::string& device) {
    for (const std::string_view maker : {"net_tap", "net_virtio_user", "virtio_user"})
        if (device.starts_with(maker)) return {};
    std::string name = kernel_interface_of(device);
    return ifindex_of(name) == 0 ? name : std::string();
}

/// Whether a device's interface or PCI address is not there: known without a probe, whose failure EAL logs.
bool is_missing(const std::string& device) {
    const std::string interface = missing_interface(device), name = device_name_of(device);
    if (!interface.empty()) return interface.find('/') == std::string::npos;  // a socket of vhost
    const bool is_pci = name.find_first_not_of("0123456789abcdefABCDEF:.") == std::string::npos &&
                        name.find(':') != std::string::npos;
    const std::string whole =
        (std::count(name.begin(), name.end(), ':') == 1 ? "0000:" : "") + name;
    return is_pci && ::access(("/sys/bus/pci/devices/" + whole).c_str(), F_OK) != 0;
}

/// Why EAL's probe of a device failed.
error probe_error(int code, const std::string& device, const driver_messages& log) {
    if (code == EFAULT)  // rte_devargs_parse(): no bus takes the name
        return {code, "",
                "device '" + device_name_of(device) +
                    "' is neither a virtual device of a driver that is loaded, as net_xsk0 or "
                    "net_af_packet0, nor a bus address, as 0000:3b:00.0"};
    const std::string opens = "device '" + device + "' cannot be opened: ";
    if (const std::string name = missing_interface(device); !name.empty())
        return {ENODEV, "",
                opens + "there is no interface '" + name +
                    "' in this network namespace (ip link shows them)"};
    if (const std::string reason = log.reason(); !reason.empty())
        // A driver's -1 is no errno value.
        return {code == 1 ? EIO : code, "", opens + reason};
    return {code, "",
            opens +
                "no driver takes it; check its name, its arguments and, for a PCI address, that "
                "it is bound to vfio-pci"};
}

result<uint16_t> probe(const std::string& device, const driver_messages& log) {
    if (auto already = find_port(device)) {
        if (!has_other_arguments(*already, device)) return already;
        return fail(EEXIST, "",
                    "EAL has device '" + device_name_of(device) +
                        "' already, with other arguments (--vdev); choose another number for it, "
                        "as net_af_packet7");
    }
    const int code = rte_dev_probe(device.c_str());
    if (code != 0 && code != -EEXIST) return tl::unexpected<error>(probe_error(-code, device, log));
    return find_port(device);
}

/// Completes an error by the driver's own reason.
result<void> with_reason(result<void> done, const driver_messages& log) {
    if (done) return done;
    if (const std::string reason = log.reason();
        !reason.empty() && done.error().text.find(reason) == std::string::npos)
        done.error().text += "; the driver's reason: " + reason;
    return done;
}

}  // namespace

port port::without_device(const std::string& name) {
    port p;
    p.name_ = name;
    return p;
}

result<void> port::find(const std::string& device) {
    if (find_port(device)) return {};
    if (is_missing(device)) {
        const std::string interface = missing_interface(device);
        return fail(
            ENXIO, "",
            "device '" + device + "' cannot be opened: " +
                (interface.empty() ? "it is not there"
                                   : "there is no interface '" + interface +
                                         "' in this network namespace (ip link shows them)"));
    }
    const driver_messages log;
    const auto id = probe(device, log);
    if (!id) return tl::unexpected<error>(id.error());
    rte_eth_dev_info info;
    const bool known = rte_eth_dev_info_get(*id, &info) == 0 && info.device != nullptr;
    rte_eth_dev_close(*id);
    if (known) rte_dev_remove(info.device);
    return {};
}

result<port> port::open(const port_settings& settings) {
    const driver_messages log;
    const auto set_up = [&settings](port& p) -> result<void> {
        for (const rte_eth_event_type event : gone_events)
            if (const int code = rte_eth_dev_callback_register(p.id_, event, note_gone, nullptr);
                code != 0)
                return fail(-code, p.where_, "cannot register for the device's events");
        if (auto done = p.configure(settings); !done) return done;
        if (auto done = p.set_up_queues(settings); !done) return done;
        if (auto done = p.set_mtu(settings.mtu); !done) return done;
        return p.set_promiscuous(settings.promiscuous);
    };
    port p;
    p.name_ = settings.name;
    p.where_ =
        settings.where.empty() ? settings.name : settings.where + ": port '" + settings.name + "'";
    const auto id = probe(settings.device, log);
    if (!id) return fail(id.error().code, p.where_, id.error().text);
    if (open_devices[*id].exchange(true))
        return fail(EBUSY, p.where_,
                    "device '" + device_name_of(settings.device) +
                        "' is already open as another port; delete that port first");
    p.id_ = *id;
    p.device_ = settings.device;
    devices[*id].store(presence::there, std::memory_order_relaxed);
    if (auto done = with_reason(set_up(p), log); !done) return tl::unexpected<error>(done.error());
    return p;
}

result<void> port::check(const port_settings& settings, const rte_eth_dev_info& info,
                         bool& scatter) const {
    if (settings.rx_queues > info.max_rx_queues || settings.tx_queues > info.max_tx_queues)
        return fail(EINVAL, where_,
                    driver_ + " gives it " + std::to_string(info.max_rx_queues) + " RX and " +
                        std::to_string(info.max_tx_queues) + " TX queues; " +
                        std::to_string(settings.rx_queues) + " and " +
                        std::to_string(settings.tx_queues) +
                        " are needed (a TX queue for each worker that may send there): use fewer "
                        "workers or queues, or give the device more (an argument of its driver)");
    if (facts_of(info.driver_name).queues_in_pairs && settings.tx_queues > settings.rx_queues)
        return fail(EINVAL, where_,
                    std::string(info.driver_name) + " has its queues in pairs, and " +
                        std::to_string(settings.tx_queues) +
                        " TX queues are needed, one for each worker that may send there: set "
                        "rx_queues to at least " +
                        std::to_string(settings.tx_queues) + ", or use fewer workers");
    if (settings.timestamps == offload::required &&
        (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP) == 0)
        return fail(EINVAL, where_,
                    driver_ + " gives the device no RX timestamps; remove `timestamps`");
    if (const std::string shortage = frame_room_shortage(settings, info, scatter);
        !shortage.empty())
        return fail(EINVAL, where_, shortage);
    return {};
}

result<void> port::could_have(const port_settings& settings) const {
    rte_eth_dev_info info;
    if (const int code = rte_eth_dev_info_get(id_, &info); code != 0)
        return fail(-code, where_, "the driver does not describe the device");
    bool scatter = false;
    if (auto good = check(settings, info, scatter); !good) return good;
    uint16_t rx = settings.descriptors, tx = settings.descriptors;
    if (const int code = rte_eth_dev_adjust_nb_rx_tx_desc(id_, &rx, &tx); code != 0)
        return fail(-code, where_, driver_ + " does not support this number of descriptors");
    return {};
}

result<void> port::configure(const port_settings& settings) {
    rte_eth_dev_info info;
    if (const int code = rte_eth_dev_info_get(id_, &info); code != 0)
        return fail(-code, where_, "the driver does not describe the device");
    driver_ = info.driver_name;
    bool scatter = false;
    if (auto good = check(settings, info, scatter); !good) return good;

    rte_eth_conf conf{};
    conf.rxmode.mtu = std::min(settings.mtu, largest_mtu(info));
    if (scatter) conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_SCATTER;
    if (settings.rx_queues > 1 && (info.flow_type_rss_offloads & rss_hash) != 0) {
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads & rss_hash;
    }
    // FAST_FREE requires direct mbufs of one pool, with one owner and one segment each: drivers put
    // them back as they are (bnxt and ena of DPDK 22.11, chained ones, too). Drivers that generate
    // frames have another pool. With multi-segment TX enabled, ixgbe, i40e and ice do not use their
    // vector paths.
    if (settings.several_buffers)
        conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    else if (!needs_periodic_tx())
        conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
    if (settings.udp_sums) {
        if (!facts_of(driver_).lets_unfinished_in)
            conf.rxmode.offloads |= info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
        conf.txmode.offloads |= info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
    }
    if (settings.timestamps != offload::off)
        conf.rxmode.offloads |= info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP;
    several_buffers_ = settings.several_buffers;
    virtual_ = is_virtual(info) && !facts_of(driver_).sends_by_others;
    conf.intr_conf.rmv = (*info.dev_flags & RTE_ETH_DEV_INTR_RMV) != 0;
    rx_offloads_ = conf.rxmode.offloads;
    tx_offloads_ = conf.txmode.offloads;
    const uint16_t more =
        facts_of(driver_).queues_in_pairs ? settings.rx_queues : settings.tx_queues_wanted;
    tx_queues_ = std::max(settings.tx_queues, std::min(more, info.max_tx_queues));
    room_bytes_ = rte_pktmbuf_data_room_size(settings.pool) - RTE_PKTMBUF_HEADROOM;
    int code = rte_eth_dev_configure(id_, settings.rx_queues, tx_queues_, &conf);
    if (code != 0 && tx_queues_ > settings.tx_queues) {
        // Some drivers have limits that they do not report.
        tx_queues_ = settings.tx_queues;
        code = rte_eth_dev_configure(id_, settings.rx_queues, tx_queues_, &conf);
    }
    if (code != 0) return fail(-code, where_, driver_ + " refuses the configuration");
    descriptors_rx_ = descriptors_tx_ = settings.descriptors;
    code = rte_eth_dev_adjust_nb_rx_tx_desc(id_, &descriptors_rx_, &descriptors_tx_);
    if (code != 0)
        return fail(-code, where_, driver_ + " does not support this number of descriptors");
    return {};
}

result<void> port::set_up_queues(const port_settings& settings) {
    rte_eth_dev_info info;
    if (const int code = rte_eth_dev_info_get(id_, &info); code != 0)
        return fail(-code, where_, driver_ + " does not describe itself");
    const int socket = rte_eth_dev_socket_id(id_);
    const auto node = socket < 0 ? SOCKET_ID_ANY : socket;

    rte_eth_rxconf rx = info.default_rxconf;
    rx.offloads = rx_offloads_;
    rte_eth_txconf tx = info.default_txconf;
    tx.offloads = tx_offloads_;
    // A threshold must divide the ring size; otherwise keep the driver's default.
    const driver_facts& facts = facts_of(driver_);
    if (facts.rx_free != 0 && descriptors_rx_ % facts.rx_free == 0)
        rx.rx_free_thresh = facts.rx_free;
    if (facts.tx_rs != 0 && descriptors_tx_ % facts.tx_rs == 0 &&
        descriptors_tx_ >= 4 * facts.tx_rs) {
        tx.tx_rs_thresh = facts.tx_rs;
        tx.tx_free_thresh = facts.tx_free;
    }
    for (uint16_t q = 0; q < settings.rx_queues; ++q)
        if (const int code = rte_eth_rx_queue_setup(
                id_, q, descriptors_rx_, static_cast<unsigned>(node), &rx, settings.pool);
            code != 0)
            return fail(-code, where_, driver_ + " refuses RX queue " + std::to_string(q));
    for (uint16_t q = 0; q < tx_queues_; ++q)
        if (const int code =
                rte_eth_tx_queue_setup(id_, q, descriptors_tx_, static_cast<unsigned>(node), &tx);
            code != 0)
            return fail(-code, where_, driver_ + " refuses TX queue " + std::to_string(q));
    return {};
}

result<void> port::set_mtu(uint16_t mtu) {
    rte_eth_dev_info info;
    if (rte_eth_dev_info_get(id_, &info) == 0 && mtu > largest_mtu(info))
        return {};  // understated: the interface's MTU applies
    const int code = rte_eth_dev_set_mtu(id_, mtu);
    if (code == -EBUSY && started_)
        return fail(EBUSY, where_,
                    driver_ +
                        " changes the mtu of a stopped port only: remove the port by one change, "
                        "and add it with mtu " +
                        std::to_string(mtu) + " by the next");
    // A driver without mtu_set has no MTU limit below its buffer size.
    if (code != 0 && code != -ENOTSUP)
        return fail(-code, where_, driver_ + " refuses mtu " + std::to_string(mtu));
    return {};
}

result<void> port::change_mtu(uint16_t mtu) {
    if (mtu + frame_overhead_bytes > room_bytes_ &&
        (rx_offloads_ & RTE_ETH_RX_OFFLOAD_SCATTER) == 0)
        return fail(EBUSY, where_,
                    "was opened for frames in one buffer, and mtu " + std::to_string(mtu) +
                        " needs several; delete the port first, or restart");
    return set_mtu(mtu);
}

bool port::needs_periodic_tx() const noexcept { return facts_of(driver_).needs_periodic_tx; }

bool port::puts_udp_sums_in() const noexcept {
    return (tx_offloads_ & RTE_ETH_TX_OFFLOAD_UDP_CKSUM) != 0;
}

bool port::checks_udp_sums() const noexcept {
    return (rx_offloads_ & RTE_ETH_RX_OFFLOAD_UDP_CKSUM) != 0;
}

bool port::stamps_frames() const noexcept {
    return (rx_offloads_ & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0;
}

bool port::filters_tags() const noexcept { return facts_of(driver_).filters_tags; }

void port::set_link(bool up) noexcept {
    if (started_) up ? rte_eth_dev_set_link_up(id_) : rte_eth_dev_set_link_down(id_);
}

result<void> port::set_promiscuous(bool on) {
    if (id_ == none) return {};
    const int code = on ? rte_eth_promiscuous_enable(id_) : rte_eth_promiscuous_disable(id_);
    // A driver without promiscuous mode (net_ring, net_null) delivers every frame.
    if (code != 0 && code != -ENOTSUP)
        return fail(-code, where_, driver_ + " refuses to switch promiscuous mode");
    return {};
}

result<void> port::start() {
    const driver_messages log;
    if (const int code = rte_eth_dev_start(id_); code != 0)
        return with_reason(fail(-code, where_, driver_ + " does not start"), log);
    started_ = true;
    if (facts_of(driver_).receives_others) empty_receive_rings();
    rte_eth_dev_info info;
    keeps_sent_ = rte_eth_dev_info_get(id_, &info) == 0 &&
                  info.tx_desc_lim.nb_max != UINT16_MAX &&  // ethdev's value for no ring
                  rte_eth_tx_done_cleanup(id_, 0, 0) == -ENOTSUP;
    return {};
}

void port::empty_receive_rings() noexcept {
    constexpr uint32_t max_ring = 65536;  // bounds the loop under load
    rte_eth_dev_info info;
    if (rte_eth_dev_info_get(id_, &info) != 0) return;
    std::array<rte_mbuf*, 32> packets;
    for (uint16_t queue = 0; queue < info.nb_rx_queues; ++queue)
        for (uint32_t freed = 0; freed < max_ring;) {
            const uint16_t n = rte_eth_rx_burst(id_, queue, packets.data(), packets.size());
            if (n == 0) break;
            rte_pktmbuf_free_bulk(packets.data(), n);
            freed += n;
        }
    rte_eth_stats_reset(id_);
    losses_ = {};
}

void port::stop() noexcept {
    if (started_) rte_eth_dev_stop(id_);
    started_ = false;
}

void port::close() noexcept {
    if (id_ == none) return;
    stop();
    rte_eth_dev_info info;
    const bool known = rte_eth_dev_info_get(id_, &info) == 0;
    for (const rte_eth_event_type event : gone_events)
        rte_eth_dev_callback_unregister(id_, event, note_gone, nullptr);
    rte_eth_dev_close(id_);
    open_devices[id_].store(false);
    if (known && info.device != nullptr) rte_dev_remove(info.device);
    id_ = none;
}

port port::detach() noexcept {
    port out;
    out.id_ = std::exchange(id_, none);
    out.started_ = std::exchange(started_, false);
    return out;
}

port::port(port&& other) noexcept { *this = std::move(other); }

port& port::operator=(port&& other) noexcept {
    if (this == &other) return *this;
    close();
    id_ = std::exchange(other.id_, none);
    started_ = std::exchange(other.started_, false);
    tx_queues_ = other.tx_queues_;
    room_bytes_ = other.room_bytes_;
    rx_offloads_ = other.rx_offloads_;
    tx_offloads_ = other.tx_offloads_;
    several_buffers_ = other.several_buffers_;
    virtual_ = other.virtual_;
    keeps_sent_ = other.keeps_sent_;
    losses_ = other.losses_;
    descriptors_rx_ = other.descriptors_rx_;
    descriptors_tx_ = other.descriptors_tx_;
    name_ = std::move(other.name_);
    where_ = std::move(other.where_);
    device_ = std::move(other.device_);
    driver_ = std::move(other.driver_);
    return *this;
}

port::~port() { close(); }

result<void> port::listen_to(std::span<const packet::mac_address> groups) {
    if (id_ == none) return {};
    static_assert(sizeof(mac_address) == sizeof(rte_ether_addr));
    auto* list =
        const_cast<rte_ether_addr*>(reinterpret_cast<const rte_ether_addr*>(groups.data()));
    int code = rte_eth_dev_set_mc_addr_list(id_, list, static_cast<uint32_t>(groups.size()));
    if (code != 0) code = rte_eth_allmulticast_enable(id_);
    if (code != 0 && code != -ENOTSUP)
        return fail(-code, where_, driver_ + " refuses the multicast addresses");
    return {};
}

std::string port::pci_address() const {
    rte_eth_dev_info info;
    if (id_ == none || rte_eth_dev_info_get(id_, &info) != 0 || info.device == nullptr) return {};
    const rte_bus* bus = rte_dev_bus(info.device);
    if (bus == nullptr || std::string_view(rte_bus_name(bus)) != "pci") return {};
    return rte_dev_name(info.device);
}

packet::mac_address port::mac() const noexcept {
    rte_ether_addr address{};
    if (id_ != none) rte_eth_macaddr_get(id_, &address);
    packet::mac_address out;
    std::copy_n(address.addr_bytes, RTE_ETHER_ADDR_LEN, out.bytes);
    return out;
}

bool port::sends_one_buffer() const noexcept {
    return !several_buffers_ &&
           (!virtual_ || (tx_offloads_ & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0);
}

uint32_t port::min_tx_bytes() const noexcept { return facts_of(driver_).min_tx_bytes; }

bool port::vanished() const noexcept {
    return id_ != none && devices[id_].load(std::memory_order_acquire) != presence::there;
}

bool port::was_reset() const noexcept {
    return id_ != none && devices[id_].load(std::memory_order_acquire) == presence::reset;
}

bool port::link_up(uint16_t id) noexcept {
    const auto is_up = [id] {
        rte_eth_link link{};
        return rte_eth_link_get_nowait(id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
    };
    // Asked twice before it is down: in vmxnet3 a command of another thread (statistics, filters) may be in front of the
    // answer in the device's one register.
    return id != none && (is_up() || is_up());
}

int port::node() const noexcept {
    // Virtual devices are on no bus; ethdev reports the NUMA node of the creating thread.
    return id_ == none || pci_address().empty() ? -1 : rte_eth_dev_socket_id(id_);
}

uint32_t port::link_mbps() const noexcept {
    rte_eth_link link{};
    const bool known = id_ != none && rte_eth_link_get_nowait(id_, &link) == 0 &&
                       link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN;
    return known ? link.link_speed : 0;
}

port::rx_losses port::losses() const noexcept {
    if (id_ == none) return {};
    rte_eth_stats stats{};
    // The registers of a device that is gone read as all ones.
    if (!vanished() && rte_eth_stats_get(id_, &stats) == 0)
        losses_ = {.missed = stats.imissed, .no_buffer = stats.rx_nombuf};
    return losses_;
}

std::map<std::string, uint64_t> port::xstats(std::string_view prefix) const {
    const int n = id_ == none ? 0 : rte_eth_xstats_get_names(id_, nullptr, 0);
    if (n <= 0) return {};
    std::vector<rte_eth_xstat_name> names(static_cast<size_t>(n));
    std::vector<rte_eth_xstat> values(static_cast<size_t>(n));
    if (rte_eth_xstats_get_names(id_, names.data(), static_cast<unsigned>(n)) != n ||
        rte_eth_xstats_get(id_, values.data(), static_cast<unsigned>(n)) != n)
        return {};
    std::map<std::string, uint64_t> out;
    for (const rte_eth_xstat& value : values)
        if (std::string_view(names[value.id].name).substr(0, prefix.size()) == prefix)
            out[names[value.id].name] = value.value;
    return out;
}

}  // namespace turnpike::rxtx
