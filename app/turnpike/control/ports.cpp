// SPDX-License-Identifier: BSD-3-Clause
#include "control/ports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "control/queues.hpp"
#include "control/workers.hpp"
#include "observe/console.hpp"
#include "packet/ipv6.hpp"

namespace turnpike::control {
namespace {

using datapath::max_ports;

/// The interfaces of a port route, or they are patched.
bool is_routed(const state::desired& in, const std::string& port) {
    return std::any_of(in.interfaces.begin(), in.interfaces.end(), [&](const auto& i) {
        return i.second.port == port && i.second.kind == state::interface_kind::routed;
    });
}

/// May a packet that came by one port leave by the other?
bool reaches(const state::desired& in, const std::string& from, const std::string& to) {
    for (const auto& [name, i] : in.interfaces) {
        if (i.port != from) continue;
        if (i.kind == state::interface_kind::routed && is_routed(in, to)) return true;
        if (i.kind == state::interface_kind::patched && in.interfaces.at(i.peer).port == to)
            return true;
    }
    return false;
}

}  // namespace

class ports::staged_ports : public staged {
  public:
    staged_ports(ports& of, change& c)
        : of_(of), c_(c), after_(c.after), queues_(c.workers, c.running, c.what.workers) {}
    ~staged_ports() override {
        if (committed_) return;
        for (const auto& [port, mtu] : mtu_before_) {
            try {
                if (port->device.change_mtu(mtu)) continue;
            } catch (const std::bad_alloc&) {  // nor could it say why
            }
            // No text is made here: memory may be what is missing.
            observe::log(observe::log_level::error,
                         "a port keeps the mtu of a refused change; reload");
        }
    }

    /// Ports that stay keep their places.
    result<void> plan() {
        std::vector<bool> used(max_ports);
        for (const auto& p : of_.open_) used[p->place] = true;
        for (const auto& [name, wanted] : after_.ports) {
            const auto there = std::find_if(
                of_.open_.begin(), of_.open_.end(), [n = &name, w = &wanted](const auto& p) {
                    return p->name == *n && p->wanted.device == w->device;
                });
            uint16_t place = 0;
            if (there != of_.open_.end()) {
                place = (*there)->place;
                open_.push_back(*there);
            } else {
                place = static_cast<uint16_t>(std::find(used.begin(), used.end(), false) -
                                              used.begin());
                if (place == max_ports)
                    return fail(ENOSPC, wanted.where.text,
                                fmt::format("more than {} ports at a time, those that go counted",
                                            max_ports));
                used[place] = true;
                open_.push_back(nullptr);
            }
            c_.port_place.emplace(name, place);
            plan_.push_back({name, place, &wanted});
        }
        return queues_.share_rx(plan_);
    }

    result<void> open_devices() {
        for (const auto& [name, wanted] : after_.ports)
            several_buffers_ |= rxtx::takes_several_buffers(wanted.device, wanted.mtu, of_.pool_);
        for (size_t i = 0; i < plan_.size(); ++i) {
            auto& port = open_[i];
            const std::string name(plan_[i].name);
            const uint16_t place = plan_[i].place;
            const state::port& wanted = *plan_[i].wanted;
            const auto senders = senders_to(name);
            if (port == nullptr) {
                auto opened = open(name, wanted, static_cast<uint16_t>(senders.size()));
                if (!opened) return tl::unexpected<error>(opened.error());
                port = *opened;
                port->place = place;
            } else if (several_buffers_ && !port->device.sends_several_buffers()) {
                return fail(
                    EBUSY, wanted.where.text,
                    fmt::format("port '{}' was opened when every frame fitted one buffer, and "
                                "one of the MTUs is longer now; restart, or choose a larger "
                                "mempool.buffer_size",
                                name));
            } else if (port->wanted.mtu != wanted.mtu) {
                mtu_before_.reserve(mtu_before_.size() + 1);
                if (auto changed = port->device.change_mtu(wanted.mtu); !changed) return changed;
                mtu_before_.emplace_back(port.get(), port->wanted.mtu);
            }
            if (auto shared = queues_.share_tx(plan_[i], port->device.tx_queues(), senders);
                !shared)
                return shared;
            c_.view->port[place] = {
                .state = &port->state, .ethdev_id = port->device.id(), .mac = port->device.mac()};
        }
        c_.view->queues = queues_.after();
        c_.hand_over = queues_.hand_over();
        wanted_.reserve(after_.ports.size());
        for (const auto& [name, wanted] : after_.ports) wanted_.push_back(wanted);
        return {};
    }

    void commit() noexcept override {
        committed_ = true;
        for (size_t i = 0; i < open_.size(); ++i) std::swap(open_[i]->wanted, wanted_[i]);
        of_.open_.swap(open_);
    }
    /// Those that went are closed here: no worker knows them any more.
    void retire() noexcept override {
        for (auto& port : open_) {
            if (std::find(of_.open_.begin(), of_.open_.end(), port) != of_.open_.end()) continue;
            port.reset();
        }
    }

  private:
    /// The workers whose packets may leave by a port.
    std::vector<size_t> senders_to(const std::string& port) const {
        return queues_.senders([&](uint16_t place) {
            const auto from = std::find_if(plan_.begin(), plan_.end(),
                                           [&](const auto& p) { return p.place == place; });
            return reaches(after_, std::string(from->name), port);
        });
    }

    result<std::shared_ptr<open_port>> open(const std::string& name, const state::port& wanted,
                                            uint16_t senders) {
        const rxtx::port_settings settings{
            .name = name,
            .where = wanted.where.text,
            .device = wanted.device,
            .mtu = wanted.mtu,
            .rx_queues = wanted.rx_queues,
            .tx_queues = std::max<uint16_t>(1, senders),
            .tx_queues_wanted = static_cast<uint16_t>(most_workers()),
            .descriptors = wanted.descriptors,
            .promiscuous = !is_routed(after_, name),
            .several_buffers = several_buffers_,
            .pool = of_.pool_};
        auto device = rxtx::port::open(settings);
        if (!device) return tl::unexpected<error>(device.error());
        auto port = std::make_shared<open_port>(std::move(*device));
        port->name = name;
        port->before = of_.counted_(c_.port_place.at(name));
        if (auto started = port->device.start(); !started)
            return tl::unexpected<error>(started.error());
        return port;
    }

    ports& of_;
    change& c_;
    const state::desired& after_;
    std::vector<std::shared_ptr<open_port>> open_;
    std::vector<state::port> wanted_;
    std::vector<queue_plan::port> plan_;  ///< as open_
    queue_plan queues_;
    std::vector<std::pair<open_port*, uint16_t>> mtu_before_;
    bool several_buffers_ = false;  ///< frames of the longest MTU take them
    bool committed_ = false;
};

result<std::unique_ptr<staged>> ports::prepare(change& c) {
    auto ready = std::make_unique<staged_ports>(*this, c);
    if (auto done = ready->plan(); !done) return tl::unexpected<error>(done.error());
    if (auto done = ready->open_devices(); !done) return tl::unexpected<error>(done.error());
    return ready;
}

/// All that was counted at a place before the port that is there now.
observe::port_totals ports::removed() const {
    std::array<const open_port*, max_ports> at{};
    for (const auto& port : open_) at[port->place] = port.get();
    observe::port_totals sum;
    for (uint16_t place = 0; place < max_ports; ++place)
        sum.add(at[place] != nullptr ? at[place]->before : counted_(place), {});
    return sum;
}

void ports::listen(const datapath::view& v) noexcept {
    try {
        for (const auto& port : open_) {
            const bool patched = v.interfaces[v.port[port->place].untagged].kind ==
                                 datapath::interface_kind::patched;
            if (auto set = port->device.set_promiscuous(patched); !set)
                observe::log(observe::log_level::error, set.error().message(),
                             {{"port", port->name}});
            std::vector<mac_address> groups;
            for (const datapath::interface& i : v.interfaces)
                if (i.kind == datapath::interface_kind::routed && i.port == port->place)
                    for (const ipv6_address& g : i.addresses->v6_groups)
                        groups.push_back(packet::multicast_mac(g));
            if (!groups.empty()) port->device.listen_to(groups);
        }
    } catch (const std::bad_alloc&) {  // tried again with the next change
        observe::log(observe::log_level::error,
                     "no memory to tell the ports which addresses to take");
    }
}

}  // namespace turnpike::control
