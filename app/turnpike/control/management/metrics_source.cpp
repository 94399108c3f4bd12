// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/metrics_source.hpp"

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "control/controller.hpp"
#include "control/management/show.hpp"
#include "observe/metrics_pages.hpp"
#include "sources/netlink_rib.hpp"

namespace turnpike::control {
namespace {

std::string vrf_label(const std::string& name) { return name.empty() ? "main" : name; }

void add_interfaces(controller& c, observe::inventory& to) {
    const auto counted = c.counted_interfaces();
    for (const auto& [name, says] : c.running().interfaces) {
        const datapath::interface& i = c.snapshot().interfaces[c.interfaces().indexes().at(name)];
        const bool tunnelled = c.running().is_tunnel(says);
        to.interfaces.push_back(
            {.name = name,
             .kind = std::string(state::interface_kind_names[static_cast<size_t>(says.kind)]),
             .port = tunnelled ? std::string() : says.port,
             .bridge = says.bridge,
             .vrf =
                 says.kind == state::interface_kind::routed ? vrf_label(says.vrf) : std::string(),
             .peer = says.peer,
             .vlan = says.vlan,
             .mtu = i.mtu,
             .up = c.has_link(i)});
        if (const auto at = counted.find(name); at != counted.end()) {
            const interface_counts::counts& n = at->second.counts;
            to.interfaces.back().counted = {n.rx_packets, n.rx_bytes, n.tx_packets, n.tx_bytes};
        }
    }
}

/// Targets are few, so their uses are summed; routes are not visited.
void add_sources(const std::string& vrf, const controller& c, observe::inventory& to) {
    const state::route_set& learned = c.followed().routes.at(vrf);
    to.sources.push_back({vrf_label(vrf), "operator", c.running().routes_of(vrf).size()});
    std::map<uint8_t, uint64_t> by_protocol;
    for (size_t t = 0; t < learned.targets().size(); ++t)
        if (const uint32_t n = learned.uses_of(t); n != 0)
            by_protocol[learned.targets()[t].protocol] += n;
    for (const auto& [protocol, n] : by_protocol)
        to.sources.push_back({vrf_label(vrf), sources::protocol_name(protocol), n});
}

void add_vrfs(controller& c, observe::inventory& to) {
    for (const auto& [name, index] : c.vrfs().indexes()) {
        const routes& table = c.tables().of(index);
        const fib::statistics v4 = table.v4().stats(), v6 = table.v6().stats();
        to.vrfs.push_back({vrf_label(name), v4.routes, v6.routes});
        to.fibs.push_back({vrf_label(name), "ipv4", v4.bytes()});
        to.fibs.push_back({vrf_label(name), "ipv6", v6.bytes()});
        add_sources(name, c, to);
    }
}

void add_bridges(controller& c, observe::inventory& to) {
    const bridges& all = c.bridges();
    for (const auto& [name, b] : c.running().bridges) {
        const bridge_numbers& n = all.numbers_of(name);
        observe::bridge_report& out = to.bridges.emplace_back();
        out = {.name = name,
               .entries = n.learnt,
               .max_entries = b.max_addresses,
               .learned = n.learnt_ever,
               .moved = n.moves,
               .aged = n.aged,
               .dampened = n.dampened,
               .refused = n.refused};
        const uint16_t first = all.first_domain_of(name);
        const uint16_t last = b.looks_at_vlans() ? state::last_vlan : 0;
        for (uint16_t vlan = 0; vlan <= last; ++vlan) {
            const bridges::counts v = all.counted(static_cast<uint16_t>(first + vlan));
            out.rx_packets += v.rx_packets;
            out.rx_bytes += v.rx_bytes;
            out.tx_packets += v.tx_packets;
            out.flooded += v.flooded;
        }
    }
}

void add_tunnels(controller& c, observe::inventory& to) {
    for (const auto& [name, t] : c.running().tunnels) {
        const tunnels::counts n = c.tunnels().counted(c.interfaces().indexes().at(name));
        to.tunnels.push_back({.name = name,
                              .remote = t.remote.text(),
                              .vni = t.vni,
                              .rx_packets = n.rx_packets,
                              .rx_bytes = n.rx_bytes,
                              .tx_packets = n.tx_packets,
                              .tx_bytes = n.tx_bytes});
    }
}

void add_mirrors(controller& c, observe::inventory& to) {
    for (const auto& [name, m] : c.running().mirrors) {
        const mirrors::counts n = c.mirroring().counted(name);
        to.mirrors.push_back({.name = name,
                              .packets = n.packets,
                              .bytes = n.bytes,
                              .lost = n.lost,
                              .unreachable = n.unreachable});
    }
}

void add_latencies(controller& c, observe::inventory& to) {
    to.latencies = c.latencies().counted();
}

void add_sflow(controller& c, observe::inventory& to) {
    if (c.running().sflow.collectors.empty()) return;
    const sflow_export::counts n = c.sflow().counted();
    to.sflow.push_back({.datagrams = n.datagrams,
                        .unsent = n.unsent,
                        .samples = n.samples,
                        .drops = n.drops,
                        .lost_samples = n.lost_samples,
                        .lost_drops = n.lost_drops});
}

void add_host_interfaces(controller& c, observe::inventory& to) {
    for (const auto& t : c.host_interfaces().shown())
        to.host_interfaces.push_back({.name = c.interfaces().name_of(t.ifindex),
                                      .carrier = t.carrier,
                                      .to_kernel = t.counted.given,
                                      .from_kernel = t.counted.taken,
                                      .refused = t.counted.not_taken});
    if (const netlink_monitor* const monitor = c.host_interfaces().follower()) {
        const netlink_monitor::numbers n = monitor->counted();
        to.netlink.push_back({n.messages, n.refused, n.overruns, n.asking});
        c.no_room().each([&](const char* reason, size_t count) {
            to.left_out.push_back({reason, count});
        });
        const auto counts = monitor->known().count_not_followed();
        for (size_t why = 1; why < counts.size(); ++why)
            to.not_followed.push_back({std::string(sources::not_followed_names[why]), counts[why]});
    }
}

void add_tables(controller& c, observe::inventory& to) {
    to.tables.push_back({"next_hops", c.hops().in_use(), c.hops().capacity()});
    to.tables.push_back({"neighbours", c.neighbours().size(), c.neighbours().limits().limit});
    if (c.bridges().table() != nullptr)
        to.tables.push_back({"fdb", c.bridges().fdb_entries(), datapath::max_fdb_entries});
}

}  // namespace

std::vector<observe::table_report> table_sizes(controller& c) {
    observe::inventory all;
    for (const auto add : {add_vrfs, add_bridges, add_tables}) add(c, all);
    return observe::all_tables(all);
}

observe::scraped scrape(controller& c, bool page) {
    using clock = std::chrono::steady_clock;
    const auto begun = clock::now();
    observe::scraped out;
    out.numbers = c.report();
    for (const auto add : {add_interfaces, add_vrfs, add_bridges, add_tunnels, add_mirrors,
                           add_latencies, add_sflow, add_host_interfaces, add_tables})
        add(c, out.objects);
    if (page) {
        out.rates = page_rates(c).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        out.changes = c.changes_text();
    }
    out.objects.gather_s = std::chrono::duration<double>(clock::now() - begun).count();
    return out;
}

}  // namespace turnpike::control
