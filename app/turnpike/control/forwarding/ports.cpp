// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/ports.hpp"

#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <new>
#include <optional>

#include "base/fnv1a.hpp"
#include "base/hardware.hpp"
#include "control/forwarding/egress_ports.hpp"
#include "control/forwarding/packet_pool.hpp"
#include "control/forwarding/queues.hpp"
#include "control/forwarding/workers.hpp"
#include "observe/console.hpp"
#include "packet/igmp.hpp"
#include "packet/ipv4.hpp"
#include "packet/ipv6.hpp"
#include "pmu/sysfs.hpp"
#include "sources/default_routes.hpp"
#include "sources/socket_file.hpp"
#include "state/default_route.hpp"

namespace turnpike::control {
namespace {

using datapath::max_ports;

/// The NUMA node of a device before it is opened; -1: not on a PCI bus, or unknown to the kernel.
int node_of(const std::string& device) {
    const auto pci = pmu::read_pci_device("/sys", device_name_of(device));
    return pci ? pci->node : -1;
}

/// Whether a port needs promiscuous mode.
bool takes_all(const state::configuration& in, const std::string& port) {
    if (in.interfaces.at(port).kind != state::interface_kind::routed) return true;
    return std::any_of(in.interfaces.begin(), in.interfaces.end(), [&](const auto& i) {
        return i.second.port == port && !i.second.extra_macs.empty();
    });
}

/// Whether a port processes the 802.1Q tags of every frame.
bool takes_tags(const state::configuration& in, const std::string& port) {
    const state::interface& untagged = in.interfaces.at(port);
    if (untagged.kind == state::interface_kind::patched) return false;
    if (untagged.kind == state::interface_kind::bridged) {
        const state::bridge_member& m = *in.bridges.at(untagged.bridge).member(port);
        return m.mode != state::vlan_mode::unaware && m.mode != state::vlan_mode::dot1q_tunnel &&
               !m.service_tags;
    }
    return std::any_of(in.interfaces.begin(), in.interfaces.end(),
                       [&](const auto& i) { return i.second.port == port && i.second.vlan != 0; });
}

}  // namespace

class ports::prepared_ports : public prepared_change {
  public:
    prepared_ports(ports& of, transaction& c)
        : of_(of),
          c_(c),
          after_(c.after),
          egress_ports_(egress_ports_of(c.after)),
          queues_(c.workers, c.running, c.what.workers) {}
    ~prepared_ports() override {
        if (committed_) return;
        for (const auto& [port, mtu] : mtu_before_) {
            try {
                if (port->device.change_mtu(mtu)) continue;
            } catch (const std::bad_alloc&) {  // out of memory even for the log
            }
            // Constant text: memory may be exhausted.
            observe::log(observe::log_level::error,
                         "a port keeps the mtu of a refused change; reload");
        }
    }

    /// Unchanged ports keep their indices.
    result<void> plan() {
        std::vector<bool> used(max_ports);
        for (const auto& p : of_.open_) used[p->port_index] = true;
        rows_.reserve(after_.ports.size());
        for (const auto& [name, config] : after_.ports) {
            row& r = rows_.emplace_back();
            r.name = name;
            r.config = &config;
            r.port = staying(name);
            std::optional<error> absent;
            if (r.port == nullptr && config.optional)
                if (const auto there = rxtx::port::find(config.device); !there) {
                    if (there.error().code == EFAULT)  // a typing error
                        return fail(EINVAL, config.where.text,
                                    fmt::format("port '{}': {}", name, there.error().text));
                    absent = there.error();
                    r.port = lost_port(name);
                }
            r.port_index = r.port != nullptr
                               ? r.port->port_index
                               : static_cast<uint16_t>(std::find(used.begin(), used.end(), false) -
                                                       used.begin());
            if (r.port_index == max_ports)
                return fail(ENOSPC, config.where.text,
                            fmt::format("more than {} ports at a time, with those being removed",
                                        max_ports));
            used[r.port_index] = true;
            c_.port_index_of.emplace(name, r.port_index);
            if (absent && r.port == nullptr) r.port = without_device(r, *absent);
        }
        std::vector<queue_plan::port> polled;
        for (row& r : rows_) {
            if (r.port == nullptr) find_holders(r);
            if (!r.has_no_device()) polled.push_back(r.in_plan());
        }
        return queues_.share_rx(polled);
    }

    result<void> open_devices() {
        for (const auto& [name, config] : after_.ports)
            several_buffers_ |= rxtx::takes_several_buffers(config.device, config.mtu, of_.pool_);
        open_.resize(rows_.size());
        for (const auto& [name, config] : after_.ports) configs_.push_back(config);
        for (row& r : rows_) {
            auto& to = c_.snapshot->port[r.port_index];
            if (r.has_no_device()) {
                to = {.state = &r.port->state, .mac = mac_without_device(r)};
                continue;
            }
            if (r.waits_for != nullptr) {
                if (auto good = check_ahead(r); !good) return good;
                to.mac = c_.running->port[r.waits_for->port_index].mac;
                continue;
            }
            if (auto done = r.port == nullptr ? open(r) : reconfigure(r); !done) return done;
            if (auto done = show(r); !done) return done;
        }
        if (!c_.closes_first.empty())
            c_.open_rest = [this] { return open_rest(); };
        else
            share_queues();
        return check_pool(after_, of_.pool_->size, keeping_tx(),
                          static_cast<uint32_t>(std::count_if(
                              c_.workers.begin(), c_.workers.end(),
                              [](const transaction::worker& w) { return w.forwards; })));
    }

    /// This object now owns the removed ports, and closes them when it is destroyed, after a grace period.
    void commit() noexcept override {
        committed_ = true;
        for (size_t i = 0; i < rows_.size(); ++i) {
            // Before a worker polls it again: its driver may have received all the time.
            if (rows_[i].port->config.shutdown && !configs_[i].shutdown)
                of_.empty_receive_rings(*rows_[i].port, datapath::drop_reason::port_shutdown);
            std::swap(rows_[i].port->config, configs_[i]);
            open_[i] = rows_[i].port;
        }
        of_.open_.swap(open_);
    }
    void retire() noexcept override {
        for (const auto& p : open_) {
            if (std::find(of_.open_.begin(), of_.open_.end(), p) != of_.open_.end()) continue;
            const rxtx::port::rx_losses more = p->losses();
            of_.removed_losses_.missed += more.missed;
            of_.removed_losses_.no_buffer += more.no_buffer;
        }
    }

  private:
    /// A port of the new configuration.
    struct row {
        std::string_view name;
        uint16_t port_index = 0;
        const state::port* config = nullptr;
        std::shared_ptr<open_port> port{};       ///< null: not open yet
        std::shared_ptr<open_port> waits_for{};  ///< a port that must be closed first

        [[nodiscard]] bool has_no_device() const noexcept { return port != nullptr && port->lost; }
        [[nodiscard]] queue_plan::port in_plan() const {
            return {name, port_index, config, node_of(config->device)};
        }
    };

    /// Null: the port must be opened, or reopened.
    std::shared_ptr<open_port> staying(const std::string& name) const {
        const auto& anew = c_.what.reopened;
        if (std::find(anew.begin(), anew.end(), name) != anew.end()) return nullptr;
        const auto there = std::find_if(of_.open_.begin(), of_.open_.end(),
                                        [&](const auto& p) { return p->name == name; });
        return there == of_.open_.end() ? nullptr : *there;
    }
    /// A port of this name that has no device, with its index and MAC address; null: none.
    std::shared_ptr<open_port> lost_port(const std::string& name) const {
        for (const auto& p : of_.open_)
            if (p->lost && p->name == name) return p;
        return nullptr;
    }
    /// A port whose device was never there.
    std::shared_ptr<open_port> without_device(const row& r, const error& why) const {
        auto port = std::make_shared<open_port>(rxtx::port::without_device(std::string(r.name)));
        port->name = r.name;
        port->port_index = r.port_index;
        port->before = of_.counted_(r.port_index);
        port->lost = true;
        observe::log(
            observe::log_level::error,
            fmt::format("port '{}': {}; it is opened when it is there", r.name, why.text),
            {{"what", "absent"}, {"port", std::string(r.name)}, {"device", r.config->device}});
        return port;
    }
    /// The one that the device had; for a device that was never there, one by machine and port.
    [[nodiscard]] mac_address mac_without_device(const row& r) const {
        if (c_.running != nullptr && c_.running->port[r.port_index].state == &r.port->state)
            return c_.running->port[r.port_index].mac;
        std::string machine;
        std::ifstream("/etc/machine-id") >> machine;
        const uint64_t hash = fnv1a(machine + "/" + std::string(r.name));
        mac_address out{{2}};  // locally administered
        std::memcpy(&out.bytes[1], &hash, sizeof out.bytes - 1);
        return out;
    }
    /// Removed ports that hold the device of a port to be opened.
    void find_holders(row& r) {
        auto& all = c_.closes_first;
        for (const auto& p : of_.open_) {
            const auto stays = std::any_of(rows_.begin(), rows_.end(),
                                           [&](const row& other) { return other.port == p; });
            if (stays || p->lost || !same_hardware(p->config.device, r.config->device)) continue;
            if (r.waits_for == nullptr || p->device.id() < r.waits_for->device.id())
                r.waits_for = p;
            if (std::find(all.begin(), all.end(), p) == all.end()) all.push_back(p);
        }
    }

    /// The workers whose packets may leave by a port.
    std::vector<size_t> senders_to(std::string_view port) const {
        return queues_.senders([&](uint16_t port_index) {
            const auto from = std::find_if(rows_.begin(), rows_.end(), [&](const row& r) {
                return r.port_index == port_index;
            });
            return egress_ports_.find(from->name)->second.contains(std::string(port));
        });
    }

    /// The transmit rings in use whose drivers keep sent packets.
    keeping_rings keeping_tx() const {
        keeping_rings out;
        for (const row& r : rows_) {
            const rxtx::port& device = (r.port != nullptr ? r.port : r.waits_for)->device;
            if (!device.keeps_sent()) continue;
            out.packets += uint64_t{r.config->descriptors} *
                           std::min<size_t>(device.tx_queues(), senders_to(r.name).size());
            out.driver = device.driver();
        }
        return out;
    }

    rxtx::port_settings settings_of(const row& r) const {
        return {
            .name = std::string(r.name),
            .where = r.config->where.text,
            .device = r.config->device,
            .mtu = r.config->mtu,
            .rx_queues = r.config->rx_queues,
            .tx_queues = std::max<uint16_t>(1, static_cast<uint16_t>(senders_to(r.name).size())),
            .tx_queues_wanted = static_cast<uint16_t>(max_workers()),
            .descriptors = r.config->descriptors,
            .promiscuous = takes_all(after_, std::string(r.name)),
            .several_buffers = several_buffers_,
            .udp_sums = r.config->device_sums_udp,
            .timestamps = r.config->timestamps ? rxtx::offload::required : rxtx::offload::off,
            .pool = of_.pool_};
    }

    /// Checks that are possible before the device is closed. Only the driver can validate other
    /// arguments.
    result<void> check_ahead(const row& r) const {
        if (auto good = check_default_route(r); !good) return good;
        if (r.waits_for->config.device != r.config->device) return {};
        auto good = r.waits_for->device.could_have(settings_of(r));
        if (good) return good;
        return fail(good.error().code, fmt::format("{}: port '{}'", r.config->where.text, r.name),
                    good.error().text);
    }

    static result<void> check_default_route(const row& r) {
        std::string why = sources::default_route_conflict(r.config->device);
        if (why.empty()) return {};
        return fail(EPERM, fmt::format("{}: port '{}'", r.config->where.text, r.name), why);
    }

    /// A killed process leaves the file of its socket, on which DPDK's drivers then cannot listen.
    result<void> clear_socket(const row& r) const {
        const std::string path = state::listening_socket_of(r.config->device);
        if (path.empty() || shares_socket(r.config->device, path)) return {};
        auto removed = sources::remove_stale_socket(path);
        if (removed) return removed;
        return fail(removed.error().code,
                    fmt::format("{}: port '{}'", r.config->where.text, r.name),
                    fmt::format("{}: {}", path, removed.error().text));
    }

    /// Ports of net_memif with different ids may have one socket, on which the driver listens for all of them.
    bool shares_socket(std::string_view device, const std::string& path) const {
        const auto is_memif = [](std::string_view d) { return d.substr(0, 9) == "net_memif"; };
        const auto has_it = [&](const std::shared_ptr<open_port>& p, std::string_view d) {
            return p != nullptr && !p->lost && is_memif(d) && state::listening_socket_of(d) == path;
        };
        return is_memif(device) &&
               (std::any_of(of_.open_.begin(), of_.open_.end(),
                            [&](const auto& p) { return has_it(p, p->config.device); }) ||
                std::any_of(rows_.begin(), rows_.end(), [&](const row& other) {
                    return has_it(other.port, other.config->device);
                }));
    }

    result<void> open(row& r) {
        // The device of a port that comes back has run beside the default route.
        const state::port* const was = c_.before.ports.find(r.name);
        if (was == nullptr || was->device != r.config->device)
            if (auto good = check_default_route(r); !good) return good;
        if (auto good = clear_socket(r); !good) return good;
        auto device = rxtx::port::open(settings_of(r));
        if (!device) return tl::unexpected<error>(device.error());
        auto port = std::make_shared<open_port>(std::move(*device));
        port->name = r.name;
        port->port_index = r.port_index;
        port->before = of_.counted_(r.port_index);
        if (auto started = port->device.start(); !started) return started;
        if (r.config->timestamps) {
            port->clock.emplace(port->device.id(), static_cast<double>(rte_get_tsc_hz()));
            if (!port->clock->begin())
                return fail(ENOTSUP, fmt::format("{}: port '{}'", r.config->where.text, r.name),
                            port->device.driver() +
                                " cannot read the clock of its RX timestamps; remove "
                                "`timestamps`");
        }
        r.port = std::move(port);
        return {};
    }

    /// Reconfigure an open port.
    result<void> reconfigure(row& r) {
        open_port& port = *r.port;
        if (several_buffers_ && !port.device.sends_several_buffers())
            return fail(EBUSY, r.config->where.text,
                        fmt::format("port '{}' was opened when every frame fitted one buffer, and "
                                    "one of the MTUs is longer now; restart, or choose a larger "
                                    "mempool.buffer_size",
                                    r.name));
        if (port.config.mtu == r.config->mtu) return {};
        mtu_before_.reserve(mtu_before_.size() + 1);
        port.filters_set
            .reset();  // a driver may restart the device, and forget its group addresses
        if (auto changed = port.device.change_mtu(r.config->mtu); !changed) return changed;
        mtu_before_.emplace_back(&port, port.config.mtu);
        return {};
    }

    /// Fill the port's part of the snapshot.
    result<void> show(const row& r) {
        const rxtx::port& device = r.port->device;
        if (auto shared = queues_.share_tx(r.in_plan(), device.tx_queues(), senders_to(r.name));
            !shared)
            return shared;
        // Its interfaces may be set already, and stay.
        datapath::port_snapshot& to = c_.snapshot->port[r.port_index];
        to.state = &r.port->state;
        to.ethdev_id = device.id();
        to.mac = device.mac();
        to.needs_periodic_tx = device.needs_periodic_tx();
        to.takes_tags = takes_tags(after_, std::string(r.name));
        to.inserts_udp_sums = device.puts_udp_sums_in();
        to.checks_udp_sums = device.checks_udp_sums();
        c_.snapshot->one_buffer |= device.sends_one_buffer();
        c_.snapshot->min_tx_bytes = std::max(c_.snapshot->min_tx_bytes, device.min_tx_bytes());
        return {};
    }
    void share_queues() {
        c_.snapshot->queues = queues_.after();
        c_.hand_over = queues_.hand_over();
    }

    /// ethdev assigns the lowest free id, and some drivers derive MAC addresses from it: open ports
    /// in the order of their previous ids, so that each gets the same one.
    result<bool> open_rest() {
        std::vector<row*> rest;
        for (row& r : rows_)
            if (r.waits_for != nullptr) rest.push_back(&r);
        std::sort(rest.begin(), rest.end(), [](const row* a, const row* b) {
            return a->waits_for->last.id < b->waits_for->last.id;
        });
        bool same_addresses = true;
        for (row* r : rest) {
            const mac_address expected = c_.snapshot->port[r->port_index].mac;
            if (auto done = open(*r); !done) return tl::unexpected<error>(done.error());
            if (auto done = show(*r); !done) return tl::unexpected<error>(done.error());
            same_addresses &= c_.snapshot->port[r->port_index].mac == expected;
        }
        share_queues();
        return same_addresses;
    }

    ports& of_;
    transaction& c_;
    const state::configuration& after_;
    const egress_ports egress_ports_;
    std::vector<row> rows_;  ///< as after_.ports
    /// previous ports after commit(); room for the new ones is reserved
    std::vector<std::shared_ptr<open_port>> open_;
    std::vector<state::port> configs_;
    queue_plan queues_;
    std::vector<std::pair<open_port*, uint16_t>> mtu_before_;
    bool several_buffers_ = false;  ///< a frame of the largest MTU needs several mbufs
    bool committed_ = false;
};

void ports::empty_receive_rings(const open_port& port, datapath::drop_reason why) noexcept {
    constexpr uint32_t most = 65536;  // at least one full ring; bounds the loop under load
    if (port.lost) return;
    std::array<rte_mbuf*, datapath::burst_max> packets;
    for (uint16_t queue = 0; queue < port.config.rx_queues; ++queue)
        for (uint32_t taken = 0; taken < most;) {
            const uint16_t n =
                rte_eth_rx_burst(port.device.id(), queue, packets.data(), datapath::burst_max);
            if (n == 0) break;
            out_.drop_received(port.port_index, std::span(packets).first(n), why);
            taken += n;
        }
}

void ports::empty_shut_ports(datapath::drop_reason why) noexcept {
    for (const auto& port : open_)
        if (port->config.shutdown) empty_receive_rings(*port, why);
}

void ports::read_clocks() noexcept {
    const uint64_t now = rte_rdtsc();
    for (const auto& port : open_)
        if (port->clock && !port->lost) port->clock->update(now);
}

clock_lines ports::known_clocks() const noexcept {
    clock_lines out;
    for (const auto& port : open_)
        if (port->clock && !port->lost && port->clock->line().is_known())
            out[port->port_index] = port->clock->line();
    return out;
}

rxtx::port open_port::lose() noexcept {
    last.id = device.id();
    last.losses = device.losses();
    try {
        last.pcie_counts = device.xstats("pcie_");
    } catch (const std::bad_alloc&) {  // unknown then
    }
    state.link_up.store(false, std::memory_order_relaxed);
    lost = true;
    return device.detach();
}

result<std::unique_ptr<prepared_change>> ports::prepare(transaction& c) {
    auto ready = std::make_unique<prepared_ports>(*this, c);
    if (auto done = ready->plan(); !done) return tl::unexpected<error>(done.error());
    if (auto done = ready->open_devices(); !done) return tl::unexpected<error>(done.error());
    return ready;
}

void ports::add_lost(state::changes& what, const state::configuration& after,
                     const to_retry& again) const {
    const auto add = [](std::vector<std::string>& to, const std::string& name) {
        if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
    };
    for (const auto& p : open_) {
        const state::port* config = p->lost ? after.ports.find(p->name) : nullptr;
        if (config == nullptr) continue;
        const bool asked = again.all || std::find(again.named.begin(), again.named.end(),
                                                  p->name) != again.named.end();
        if (p->config == *config && !p->to_come_back &&
            (!asked || (config->optional && !rxtx::port::find(config->device))))
            continue;
        add(what.ports.changed, p->name);
        add(what.reopened, p->name);
    }
}

bool ports::any_to_come_back() const noexcept {
    return std::any_of(open_.begin(), open_.end(), [](const auto& p) { return p->to_come_back; });
}

std::vector<std::shared_ptr<open_port>> ports::release_closed() {
    std::vector<std::shared_ptr<open_port>> out;
    for (const auto& p : open_) {
        if (p->to_come_back) out.push_back(p);
        p->to_come_back = false;
    }
    std::sort(out.begin(), out.end(),
              [](const auto& a, const auto& b) { return a->last.id < b->last.id; });
    return out;
}

/// Counts at an index before its current port.
observe::port_totals ports::removed() const {
    std::array<const open_port*, max_ports> at{};
    for (const auto& port : open_) at[port->port_index] = port.get();
    observe::port_totals sum;
    for (uint16_t port_index = 0; port_index < max_ports; ++port_index)
        sum.add(at[port_index] != nullptr ? at[port_index]->before : counted_(port_index), {});
    return sum;
}

namespace {

/// Groups of routing protocols (IANA's registries of 224.0.0.0/24 and ff02::/16):
/// hosts, routers, OSPF, RIP, EIGRP, PIM, VRRP, IS-IS, IGMP or MLD, BABEL.
void add_groups_of_daemons(std::vector<mac_address>& groups) {
    for (const uint8_t last :
         std::initializer_list<uint8_t>{1, 2, 5, 6, 9, 10, 13, 18, 19, 22, 102, 111})
        groups.push_back({{0x01, 0x00, 0x5e, 0, 0, last}});
    for (const uint8_t last :
         std::initializer_list<uint8_t>{0x05, 0x06, 0x09, 0x0a, 0x0d, 0x12, 0x16, 0x66})
        groups.push_back({{0x33, 0x33, 0, 0, 0, last}});
    groups.push_back({{0x33, 0x33, 0, 1, 0, 0x06}});
    // LLDP, IS-IS, ES-IS, CDP.
    for (const uint8_t last : std::initializer_list<uint8_t>{0x00, 0x03, 0x0e, 0x14, 0x15})
        groups.push_back({{0x01, 0x80, 0xc2, 0, 0, last}});
    for (const uint8_t last : std::initializer_list<uint8_t>{0x04, 0x05})
        groups.push_back({{0x09, 0x00, 0x2b, 0, 0, last}});
    groups.push_back({{0x01, 0x00, 0x0c, 0xcc, 0xcc, 0xcc}});
}

open_port::filters filters_of(const open_port& port, const datapath::snapshot& v) {
    const datapath::port_snapshot& seen = v.port[port.port_index];
    const auto kind = v.interfaces[seen.untagged].kind;
    open_port::filters out{.promiscuous = kind == datapath::interface_kind::patched ||
                                          kind == datapath::interface_kind::bridged ||
                                          (seen.takes_tags && port.device.filters_tags())};
    for (const datapath::interface& i : v.interfaces) {
        if (i.bridge != 0 || i.port != port.port_index) continue;
        out.promiscuous |= i.has_extra_macs;
        if (i.kind != datapath::interface_kind::routed) continue;
        for (const ipv6_address& g : i.addresses->v6_groups)
            out.groups.push_back(packet::multicast_mac(g));
        for (const uint32_t g : i.addresses->v4_groups)
            out.groups.push_back(packet::multicast_mac(g));
        if (!i.addresses->v4_groups.empty())
            out.groups.push_back(packet::multicast_mac(packet::ipv4_all_hosts));
        if (i.to_host) add_groups_of_daemons(out.groups);
        for (const ip_address& g : i.addresses->passes.groups)
            out.groups.push_back(g.v6 ? packet::multicast_mac(g.v6_bytes())
                                      : packet::multicast_mac(g.v4()));
        const auto& macs = i.addresses->passes.macs;
        out.groups.insert(out.groups.end(), macs.begin(), macs.end());
    }
    // Several groups may have one MAC address (RFC 2464 section 7), and interfaces have the same groups.
    std::ranges::sort(out.groups);
    out.groups.erase(std::unique(out.groups.begin(), out.groups.end()), out.groups.end());
    return out;
}

}  // namespace

bool ports::have_filters(const datapath::snapshot& v) const noexcept {
    try {
        return std::ranges::all_of(open_, [&](const auto& port) {
            return port->lost || port->filters_set == filters_of(*port, v);
        });
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void ports::listen(const datapath::snapshot& v) noexcept {
    for (const auto& port : open_)
        if (port->is_shut != port->config.shutdown && !port->lost) {
            port->is_shut = port->config.shutdown;
            port->device.set_link(!port->is_shut);
        }
    try {
        for (const auto& port : open_) {
            open_port::filters filters = filters_of(*port, v);
            if (port->lost || port->filters_set == filters) continue;
            port->filters_set.reset();
            auto set = port->device.set_promiscuous(filters.promiscuous);
            if (set && !filters.groups.empty()) set = port->device.listen_to(filters.groups);
            if (!set) {
                observe::log(observe::log_level::error, set.error().message(),
                             {{"port", port->name}});
                continue;  // retried with the next change
            }
            port->filters_set = std::move(filters);
        }
    } catch (const std::bad_alloc&) {  // retried with the next change
        observe::log(observe::log_level::error,
                     "out of memory: the ports' MAC filters were not updated");
    }
}

}  // namespace turnpike::control
