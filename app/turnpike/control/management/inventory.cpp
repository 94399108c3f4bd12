// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/inventory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "control/controller.hpp"

namespace turnpike::control {

void add_interfaces(controller& c, observe::inventory& to) {
    const auto counted = c.counted_interfaces();
    for (const auto& [name, says] : c.running().interfaces) {
        const datapath::interface& i = c.snapshot().interfaces[c.interfaces().indexes().at(name)];
        const bool tunnel = c.running().is_tunnel(says);
        to.interfaces.push_back(
            {.name = name,
             .kind = std::string(state::interface_kind_names[static_cast<size_t>(says.kind)]),
             .port = tunnel ? std::string() : says.port,
             .bridge = says.bridge,
             .vrf =
                 says.kind == state::interface_kind::routed ? vrf_label(says.vrf) : std::string(),
             .peer = says.peer,
             .vlan = says.vlan,
             .mtu = i.mtu,
             .up = c.has_link(i)});
        if (const auto at = counted.find(name); at != counted.end()) {
            to.interfaces.back().life = at->second.life;
            to.interfaces.back().counted = at->second.total;
        }
    }
}

namespace {

void add_reserved(controller& c, observe::inventory& to) {
    for (const auto& [at, heard] : c.reserved().known())
        to.reserved.push_back({.interface = c.interfaces().name_of(at.first),
                               .group = fmt::format("01:80:c2:00:00:{:02x}", at.second),
                               .from = heard.from.text(),
                               .life = heard.life,
                               .frames = heard.frames});
}

}  // namespace

void add_bridges(controller& c, observe::inventory& to) {
    const bridges& all = c.bridges();
    to.fdb_messages_lost = all.messages_lost();
    add_reserved(c, to);
    for (const auto& [name, b] : c.running().bridges) {
        const bridge_numbers& n = all.numbers_of(name);
        observe::bridge_report& out = to.bridges.emplace_back();
        out = {.name = name,
               .life = all.life_of(name),
               .entries = n.learnt,
               .max_entries = b.max_addresses,
               .learned = n.learnt_ever,
               .moved = n.moves,
               .aged = n.aged,
               .dampened = n.dampened,
               .refused = n.refused};
        const uint16_t first = all.first_domain_of(name);
        const uint16_t last = b.vlan_aware() ? state::last_vlan : 0;
        for (uint16_t vlan = 0; vlan <= last; ++vlan) {
            const bridges::counts v = all.counted(static_cast<uint16_t>(first + vlan));
            if (v.rx_packets == 0 && v.tx_packets == 0) continue;
            out.vlans.push_back({vlan, v.rx_packets, v.rx_bytes, v.tx_packets, v.flooded});
            out.rx_packets += v.rx_packets;
            out.rx_bytes += v.rx_bytes;
            out.tx_packets += v.tx_packets;
            out.flooded += v.flooded;
        }
    }
}

void add_tunnels(controller& c, observe::inventory& to) {
    for (const auto& [name, t] : c.running().tunnels) {
        const observe::counted_traffic n = c.tunnels().counted(name);
        to.tunnels.push_back({.name = name,
                              .remote = t.remote.text(),
                              .life = n.life,
                              .vni = t.vni,
                              .inner = n.total});
    }
}

void add_mirrors(controller& c, observe::inventory& to) {
    for (const auto& [name, m] : c.running().mirrors)
        to.mirrors.push_back(c.mirroring().counted(name));
}

void add_latencies(controller& c, observe::inventory& to) {
    to.latencies = c.latencies().counted();
}

void add_sflow(controller& c, observe::inventory& to) {
    if (!c.running().sflow.collectors.empty()) to.sflow.push_back(c.sflow().counted());
}

void add_host_interfaces(controller& c, observe::inventory& to) {
    for (auto [ifindex, report] : c.host_interfaces().shown()) {
        report.name = c.interfaces().name_of(ifindex);
        to.host_interfaces.push_back(report);
    }
    const netlink_monitor* const monitor = c.host_interfaces().follower();
    if (monitor == nullptr) return;
    const netlink_monitor::numbers n = monitor->counted();
    to.netlink.push_back({n.messages, n.refused, n.overruns, n.asking, n.whole, n.life});
}

void add_counted_objects(controller& c, observe::inventory& to) {
    for (const auto add : {add_interfaces, add_bridges, add_tunnels, add_mirrors, add_latencies,
                           add_sflow, add_host_interfaces})
        add(c, to);
}

observe::inventory shown_objects(controller& c, void (*add)(controller&, observe::inventory&)) {
    observe::inventory out;
    add(c, out);
    c.cleared_at().subtract_from(out);
    return out;
}

void controller::clear_counters() {
    observe::inventory objects;
    add_counted_objects(*this, objects);
    cleared_ = observe::baseline(report(), std::move(objects));
    machine_counters_->clear();
}

bool controller::clear_port_counters(std::string_view name) {
    observe::inventory objects;
    add_interfaces(*this, objects);
    const observe::report now = report(false);
    const auto port =
        std::find_if(now.ports.begin(), now.ports.end(),
                     [&](const observe::port_report& p) { return p.life != 0 && p.name == name; });
    if (port == now.ports.end()) return false;
    cleared_.clear_port(*port, objects);
    machine_counters_->clear_port(port->life);
    return true;
}

}  // namespace turnpike::control
