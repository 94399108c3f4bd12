// SPDX-License-Identifier: BSD-3-Clause
// Setting up, and sorting what was punted; neighbour_messages.cpp and local_messages.cpp end it.
#include "control/router.hpp"

#include <rte_mbuf.h>

#include <algorithm>

#include "packet/ipv6.hpp"

namespace turnpike::control {

using datapath::hop_kind;
using datapath::next_hop;
using datapath::punt_reason;
using packet::drop_reason;

result<void> router::set_up() {
    auto table = datapath::route_table::create(tables_.rcu->hook());
    if (!table) return tl::unexpected<error>(table.error());
    tables_.routes = std::move(*table);
    auto known =
        datapath::neighbour_table::create(model_.neighbour_limits.limit, tables_.rcu->hook());
    if (!known) return tl::unexpected<error>(known.error());
    tables_.neighbours = std::move(*known);
    neighbours_ = std::make_unique<neighbours>(
        model_.neighbour_limits, *tables_.neighbours,
        neighbour_actions{
            .solicit = [this](uint16_t port, const ip_address& a,
                              const packet::mac_address* mac) { solicit(port, a, mac); },
            .send = [this](rte_mbuf* m, uint16_t port,
                           const packet::mac_address& mac) { out_.send_ip(m, port, mac); },
            .give_up = [this](rte_mbuf* m, drop_reason why) { give_up(m, why); }});
    for (uint16_t i = 0; i < tables_.ports; ++i)
        if (model_.ports[i].routed())
            if (auto added = add_addresses(i); !added) return added;
    for (const config::static_neighbour& fixed : model_.static_neighbours) {
        packet::mac_address mac;
        std::copy(fixed.mac.begin(), fixed.mac.end(), mac.bytes);
        if (auto added = neighbours_->add_static(fixed.port, fixed.address, mac); !added)
            return added;
    }
    for (const config::route& r : model_.routes)
        if (auto added = add_route(r); !added) return added;
    return {};
}

/// RFC 4291 section 2.8: what a router listens to, and the routes that follow from its addresses.
result<void> router::add_addresses(uint16_t index) {
    datapath::port_entry& port = tables_.port[index];
    port.routed = true;
    port.mtu = model_.ports[index].mtu;
    port.v6.push_back(packet::link_local(port.mac));
    std::map<ip_prefix, next_hop> wanted;
    for (const ip_prefix& a : model_.ports[index].addresses) {
        wanted[a.network()] = {hop_kind::connected, index};
        if (a.address.v6) {
            port.v6.push_back(v6_of(a.address));
            continue;
        }
        const uint32_t host_bits = a.length == 32 ? 0 : 0xffff'ffffU >> a.length;
        const bool broadcasts = a.length < 31;  // RFC 3021
        const uint32_t network = a.address.v4() & ~host_bits, last = network | host_bits;
        port.v4.push_back({a.address.v4(), broadcasts ? network : 0, broadcasts ? last : 0});
        tables_.own_v4.push_back(port.v4.back());
        if (broadcasts)
            for (const uint32_t unusable : {network, last})
                wanted[{ip_address::from_v4(unusable), 32}] = {hop_kind::broadcast, index};
    }
    for (const ip_prefix& a : model_.ports[index].addresses)
        wanted[{a.address, static_cast<uint8_t>(a.address.bits())}] = {hop_kind::local, index};
    port.v6_groups = {packet::ipv6_all_nodes,
                      {{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}}};  // all routers
    for (const auto& a : port.v6) port.v6_groups.push_back(packet::solicited_node(a));
    for (const auto& [to, hop] : wanted)
        if (auto added = tables_.routes->add(to, hop); !added) return added;
    return {};
}

result<void> router::add_route(const config::route& r) {
    next_hop hop{.kind = r.type == config::route_type::blackhole ? hop_kind::blackhole
                                                                 : hop_kind::unreachable};
    if (r.type == config::route_type::unicast) {
        const auto slot = neighbours_->add_gateway(r.port, r.via);
        if (!slot) return tl::unexpected<error>(slot.error());
        hop = {hop_kind::gateway, *slot};
        gateway& g = gateways_[*slot];
        g = {r.port, r.via, g.routes + 1};
    }
    const auto before = tables_.routes->get(r.to);
    auto added = tables_.routes->add(r.to, hop);
    if (!added)
        let_go(hop);
    else if (before)
        let_go(*before);
    return added;
}

result<void> router::remove_route(const ip_prefix& to) {
    const auto before = tables_.routes->get(to);
    const bool operators =
        before && (before->kind == hop_kind::gateway || before->kind == hop_kind::blackhole ||
                   before->kind == hop_kind::unreachable);
    if (!operators) return fail(ENOENT, "route " + to.text(), "there is no such route");
    auto removed = tables_.routes->remove(to);
    if (removed) let_go(*before);
    return removed;
}

/// A route that named this next hop is gone.
void router::let_go(next_hop hop) {
    if (hop.kind != hop_kind::gateway) return;
    const auto at = gateways_.find(hop.index);
    if (at == gateways_.end() || --at->second.routes != 0) return;
    neighbours_->release_gateway(at->second.port, at->second.address, now_ms_);
    gateways_.erase(at);
}

bool router::on_link(uint16_t port, const ip_address& a) const noexcept {
    if (a.is_link_local()) return true;
    const auto& addresses = model_.ports[port].addresses;
    return std::any_of(addresses.begin(), addresses.end(),
                       [&](const ip_prefix& p) { return p.contains(a); });
}

void router::take(rte_mbuf* packet, uint64_t now_ms) {
    now_ms_ = now_ms;
    switch (datapath::punted_of(packet).why) {
        case punt_reason::arp:
            return take_arp(packet);
        case punt_reason::nd:
            return take_nd(packet);
        case punt_reason::local:
            return take_local(packet);
        case punt_reason::resolve:
            return take_unresolved(packet);
        case punt_reason::report:
            return take_report(packet);
    }
}

void router::tick(uint64_t now_ms) {
    now_ms_ = now_ms;
    neighbours_->tick(now_ms);
}

void router::link_changed(uint16_t port, bool up, uint64_t now_ms) {
    now_ms_ = now_ms;
    if (!tables_.port[port].routed) return;
    if (up)
        announce(port);
    else
        neighbours_->flush(port, drop_reason::port_down, now_ms);
}

void router::stop() {
    if (neighbours_) neighbours_->give_up_all(drop_reason::stopping);
}

void router::take_unresolved(rte_mbuf* packet) {
    const datapath::punted& p = datapath::punted_of(packet);
    if (p.hop.kind == hop_kind::gateway) {
        const auto g = gateways_.find(p.hop.index);
        if (g == gateways_.end())  // its route was removed when it was on its way here
            return out_.drop(packet, p.in_port, drop_reason::no_route);
        return neighbours_->resolve(packet, p.out_port, g->second.address, now_ms_);
    }
    const auto* destination =
        rte_pktmbuf_mtod_offset(packet, const uint8_t*, p.parsed.destination_offset());
    const ip_address to = p.parsed.is_ipv4() ? ip_address::from_v4(load_be<uint32_t>(destination))
                                             : ip_address::from_v6(destination);
    neighbours_->resolve(packet, p.out_port, to, now_ms_);
}

void router::route_own(rte_mbuf* packet, const ip_address& to, uint16_t from_port) {
    // What follows knows it as a packet of ours: nothing more is reported about it.
    datapath::punted& p = datapath::punted_of(packet);
    p = {};
    p.in_port = from_port;
    if (to.is_link_local()) return neighbours_->resolve(packet, from_port, to, now_ms_);
    const next_hop hop = tables_.routes->lookup(to);
    uint16_t port = 0;
    ip_address neighbour = to;
    if (hop.kind == hop_kind::connected) {
        port = static_cast<uint16_t>(hop.index);
    } else if (hop.kind == hop_kind::gateway) {
        port = gateways_.at(hop.index).port;
        neighbour = gateways_.at(hop.index).address;
    } else {
        return out_.drop(packet, from_port, drop_reason::no_route);
    }
    if (!tables_.port[port].link_up.load(std::memory_order_relaxed))
        return out_.drop(packet, from_port, drop_reason::port_down);
    neighbours_->resolve(packet, port, neighbour, now_ms_);
}

}  // namespace turnpike::control
