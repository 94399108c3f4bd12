// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/tunnels.hpp"

#include <rte_byteorder.h>
#include <rte_memory.h>

#include <algorithm>
#include <bitset>
#include <set>
#include <string_view>
#include <utility>

#include "hash/table_dpdk.hpp"
#include "observe/report.hpp"
#include "packet/checksum.hpp"
#include "packet/ecn.hpp"
#include "packet/group_mac.hpp"
#include "packet/headers.hpp"

namespace turnpike::control {
namespace {

using datapath::tunnel_end;
using datapath::tunnel_tables;

/// Headers as on the wire, without the fields that differ by packet (stages/vxlan_output.cpp).
void write_headers(tunnel_end& to, const state::tunnel& t) {
    uint8_t* const l3 = to.header.data() + sizeof(packet::ethernet_header);
    uint8_t* upper = nullptr;
    packet::native_sum addresses;
    if (t.local.v6) {
        auto& ip = packet::header_at<packet::ipv6_header>(l3);
        ip.next_header = packet::protocol_udp;
        ip.hop_limit = t.ttl;
        ip.source = t.local.v6_bytes();
        ip.destination = t.remote.v6_bytes();
        upper = l3 + sizeof ip;
        addresses.add(ip.source.bytes, sizeof ip.source + sizeof ip.destination);
    } else {
        auto& ip = packet::header_at<packet::ipv4_header>(l3);
        ip.version_ihl = 0x45;
        ip.fragment = t.dont_fragment ? packet::ipv4_dont_fragment : uint16_t{0};
        ip.ttl = t.ttl;
        ip.protocol = packet::protocol_udp;
        ip.source = t.local.v4();
        ip.destination = t.remote.v4();
        upper = l3 + sizeof ip;
        addresses.add(l3 + offsetof(packet::ipv4_header, source), 8);
        packet::native_sum header;
        header.add(l3, sizeof ip);
        to.header_sum = header.folded();
    }
    store_be(to.header.data() + offsetof(packet::ethernet_header, type),
             static_cast<uint16_t>(t.local.v6 ? packet::ether_type_ipv6 : packet::ether_type_ipv4));
    addresses.add(uint64_t{rte_cpu_to_be_16(packet::protocol_udp)});
    to.address_sum = addresses.folded();
    packet::header_at<packet::udp_header>(upper).destination_port = t.udp_port;
    auto& vxlan = packet::header_at<packet::vxlan_header>(upper + sizeof(packet::udp_header));
    vxlan.flags = packet::vxlan_has_vni;
    vxlan.vni = t.vni << 8;
    to.header_bytes = static_cast<uint16_t>(t.local.v6 ? tunnel_end::ipv6_header_bytes
                                                       : tunnel_end::ipv4_header_bytes);
}

tunnel_end end_of(const transaction& c, const std::string& name, uint16_t ifindex,
                  const state::tunnel& t) {
    tunnel_end to;
    to.mtu = t.mtu;
    to.v6 = t.local.v6;
    to.sums = t.checksum;
    to.ignores_reserved = t.ignore_reserved;
    if (t.dscp) to.inherited = packet::ecn_mask;
    to.fragments = !t.local.v6 && !t.dont_fragment;
    to.traffic_class = static_cast<uint8_t>(t.dscp.value_or(0) << 2);
    const state::interface& on_it = c.after.interfaces.at(name);
    if (!on_it.bridge.empty() && c.after.bridges.at(on_it.bridge).member(name)->service_tags)
        to.tag_type = packet::ether_type_service;
    const datapath::interface& in = c.snapshot->interfaces[ifindex];
    to.simple = in.kind == datapath::interface_kind::bridged &&
                in.tags == datapath::interface::unknown && on_it.l2_in.empty() &&
                !c.after.lists_look_into(on_it) && !(to.v6 && to.sums);
    write_headers(to, t);
    return to;
}

/// The index of a local end; appends a new one.
template <class Address>
uint16_t number_of(std::vector<tunnel_tables::local_end<Address>>& ends, const Address& address,
                   uint8_t vrf, uint16_t port) {
    const tunnel_tables::local_end<Address> wanted{address, vrf, port};
    const auto at = std::find(ends.begin(), ends.end(), wanted);
    const auto number = static_cast<uint16_t>(at - ends.begin());
    if (at == ends.end()) ends.push_back(wanted);
    return number;
}

template <class Key>
result<std::unique_ptr<tunnel::endpoint_table<Key>>> make_table(size_t tunnels) {
    hash::config config = hash::eal_config("tunnel endpoints", SOCKET_ID_ANY);
    config.max_entries = config.expected_entries =
        static_cast<uint32_t>(std::max<size_t>(1, 2 * tunnels));  // to our address, and to a group
    return tunnel::endpoint_table<Key>::create(config);
}

/// Register a tunnel's local end and VNI, and the interface for packets of an endpoint.
/// from  null: no endpoint yet
/// Error  ENOMEM
result<void> add_end(tunnel_tables& to, const transaction& c, const state::tunnel& t,
                     const ip_address& at, const ip_address* from, uint16_t ifindex) {
    const uint8_t vrf = c.vrf_index_of.at(t.vrf);
    result<bool> put = true;
    if (at.v6) {
        const ipv6_address local = at.v6_bytes();
        const uint16_t end = number_of(to.ends6, local, vrf, t.udp_port);
        to.networks6.push_back(tunnel_tables::network_of(end, t.vni));
        if (from != nullptr)
            put = to.from6->put({from->v6_bytes().bytes, local.bytes, t.vni, vrf, t.udp_port},
                                ifindex);
    } else {
        const uint16_t end = number_of(to.ends4, at.v4(), vrf, t.udp_port);
        to.networks4.push_back(tunnel_tables::network_of(end, t.vni));
        if (from != nullptr)
            put = to.from4->put({from->v4(), t.vni, static_cast<uint8_t>(end)}, ifindex);
    }
    if (!put) return tl::unexpected<error>(put.error());
    return {};
}

/// Addresses in force, with their VRFs: not the ones of an interface that is set down.
using addresses_in_force = std::set<std::pair<std::string_view, ip_address>>;

addresses_in_force collect_in_force(const state::configuration& in) {
    addresses_in_force out;
    for (const auto& [name, i] : in.interfaces)
        for (const ip_prefix& a : i.addresses) out.emplace(i.vrf, a.address);
    return out;
}

/// Error  ENOMEM
result<void> add(tunnel_tables& to, const transaction& c, const addresses_in_force& ours,
                 const std::string& name, const state::tunnel& t) {
    const uint16_t ifindex = c.ifindex_of.at(name);
    to.by_ifindex[ifindex] = end_of(c, name, ifindex, t);
    if (!to.has_port(t.udp_port)) to.ports.push_back(t.udp_port);
    result<void> done;
    if (ours.contains({t.vrf, t.local}))
        done = add_end(to, c, t, t.local, t.to_group() ? nullptr : &t.remote, ifindex);
    if (!done || !t.to_group()) return done;
    done = add_end(to, c, t, t.remote, nullptr, ifindex);
    for (const auto& [other, o] : c.after.tunnels)
        if (done && o.is_behind(t))
            done = add_end(to, c, t, t.remote, &o.remote, c.ifindex_of.at(other));
    return done;
}

result<std::unique_ptr<tunnel_tables>> make_tables(const transaction& c) {
    auto made = std::make_unique<tunnel_tables>();
    auto from4 = make_table<tunnel::endpoint4>(c.after.tunnels.size());
    if (!from4) return tl::unexpected<error>(from4.error());
    auto from6 = make_table<tunnel::endpoint6>(c.after.tunnels.size());
    if (!from6) return tl::unexpected<error>(from6.error());
    made->from4 = std::move(*from4);
    made->from6 = std::move(*from6);
    made->by_ifindex.resize(datapath::max_interfaces);
    const addresses_in_force ours = collect_in_force(c.after);
    for (const auto& [name, t] : c.after.tunnels)
        if (auto done = add(*made, c, ours, name, t); !done)
            return tl::unexpected<error>(done.error());
    for (auto* networks : {&made->networks4, &made->networks6}) {
        std::sort(networks->begin(), networks->end());
        networks->erase(std::unique(networks->begin(), networks->end()), networks->end());
    }
    return made;
}

/// Routed interfaces that may receive VXLAN packets.
void add_vxlan_stage(transaction& c) {
    std::bitset<datapath::max_vrfs> vrfs;
    for (const auto& [name, t] : c.after.tunnels) vrfs.set(c.vrf_index_of.at(t.vrf));
    for (const auto& [name, i] : c.after.interfaces) {
        const uint16_t ifindex = c.ifindex_of.at(name);
        const datapath::interface& on = c.snapshot->interfaces[ifindex];
        if (on.kind == datapath::interface_kind::routed && vrfs[on.vrf])
            c.snapshot->paths[ifindex].input |= bit(datapath::stage::vxlan_fast);
    }
}

}  // namespace

class tunnels::prepared_tunnels : public prepared_change {
  public:
    explicit prepared_tunnels(tunnels& of) : of_(of) {}

    /// A multicast group is an on-link host that needs no resolution: its MAC address is derived
    /// (RFC 1112 section 6.4, RFC 2464 section 7).
    result<void> lead_to_groups(transaction& c) {
        for (const auto& [name, t] : c.after.tunnels) {
            if (!t.to_group()) continue;
            const uint8_t vrf = c.vrf_index_of.at(t.vrf);
            const std::pair to(vrf, t.remote);
            if (paths_.contains(to)) continue;
            const datapath::interface& by = c.snapshot->interfaces[c.ifindex_of.at(t.interface)];
            // Not by another route, such as the default route, whose neighbour would get the flooded frames.
            if (by.admin_down) {
                c.derived[vrf][{t.remote, static_cast<uint8_t>(t.remote.bits())}] =
                    datapath::fixed_nexthop::unreachable;
                continue;
            }
            path_to_group path{.out = by.out(), .vlan = by.vlan, .mac = by.mac, .mtu = by.mtu};
            const auto was = of_.paths_.find(to);
            if (was != of_.paths_.end() && was->second.leads_as(path)) {
                paths_.emplace(to, was->second);
            } else if (!add_path(to, path)) {
                return fail(ENOSPC, t.where.text,
                            "no next hop is left; allow more neighbours (neighbours.max_entries)");
            }
            c.derived[vrf][{t.remote, static_cast<uint8_t>(t.remote.bits())}] =
                paths_.at(to).nexthop->index();
        }
        return {};
    }
    void count(const transaction& c) {
        for (const auto& [name, t] : c.after.tunnels)
            counted_.add(name, c.ifindex_of.at(name), of_.counted_,
                         [&](uint16_t ifindex) { return of_.sum_of(ifindex); });
    }
    void show(std::unique_ptr<tunnel_tables> made) noexcept { tables_ = std::move(made); }

    /// This object now owns the previous tables and next hops, and is destroyed after a grace period.
    void commit() noexcept override {
        of_.shown_.swap(tables_);
        of_.paths_.swap(paths_);
        of_.counted_.swap(counted_);
    }

  private:
    bool add_path(const std::pair<uint8_t, ip_address>& to, path_to_group& path) {
        path.nexthop = std::make_shared<const nexthop_handle>(of_.nexthops_.allocate());
        if (!*path.nexthop) return false;
        paths_.emplace(to, path);
        datapath::next_hop& h = of_.nexthops_[path.nexthop->index()];
        h.out = path.out;
        h.mtu.store(path.mtu, std::memory_order_relaxed);
        h.set_vlan(path.vlan);
        h.set_addresses(packet::multicast_mac(to.second), path.mac);
        h.kind.store(datapath::nexthop_kind::adjacency, std::memory_order_release);
        return true;
    }

    tunnels& of_;
    std::unique_ptr<const tunnel_tables> tables_;
    paths_to_groups paths_;
    traffic_by_name counted_{};
};

result<std::unique_ptr<prepared_change>> tunnels::prepare(transaction& c) {
    auto ready = std::make_unique<prepared_tunnels>(*this);
    ready->count(c);
    std::unique_ptr<tunnel_tables> made;
    if (!c.after.tunnels.empty()) {
        if (auto done = ready->lead_to_groups(c); !done) return tl::unexpected<error>(done.error());
        auto tables = make_tables(c);
        if (!tables) return tl::unexpected<error>(tables.error());
        made = std::move(*tables);
        made->generation = ++generation_;
        add_vxlan_stage(c);
    }
    c.snapshot->tunnels = made.get();
    ready->show(std::move(made));
    return ready;
}

observe::counted_traffic tunnels::counted(const std::string& name) const noexcept {
    return counted_.counted(name, [&](uint16_t ifindex) { return sum_of(ifindex); })
        .value_or(observe::counted_traffic{});
}

observe::traffic tunnels::sum_of(uint16_t ifindex) const noexcept {
    observe::traffic out;
    for (const auto& s : workers_.all())
        out.add(observe::traffic::read(std::as_const(s->tunnels).of(ifindex)));
    return out;
}

}  // namespace turnpike::control
