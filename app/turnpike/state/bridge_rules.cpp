// SPDX-License-Identifier: BSD-3-Clause
#include "state/bridge_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace turnpike::state {
namespace {

/// Bridge domains are 16 bits wide (datapath/bridge.hpp).
constexpr size_t max_ports_with_vlans = 15, max_without = 4095;

result<void> check_member(const configuration& in, const std::string& name, const bridge& b,
                          const bridge_member& m) {
    const interface* const i = in.interfaces.find(m.port);
    if (i == nullptr || i->kind != interface_kind::bridged || i->bridge != name)
        return refuse(b.where, "bridge '{}' has the member '{}', which is not a port of it", name,
                      m.port);
    if ((m.mode == vlan_mode::unaware) == b.vlan_aware())
        return refuse(b.where,
                      "bridge '{}': member '{}' has {} mode, and '{}' has {}: either all members "
                      "are VLAN-aware, or none is",
                      name, m.port, m.mode == vlan_mode::unaware ? "no" : "a",
                      b.members.front().port, b.vlan_aware() ? "one" : "none");
    const bool has_vlans = std::any_of(
        in.interfaces.begin(), in.interfaces.end(),
        [&](const auto& other) { return other.second.port == m.port && other.second.vlan != 0; });
    if (m.service_tags && has_vlans)
        return refuse(b.where,
                      "bridge '{}': '{}' has interfaces of VLANs (802.1q), and as a member tags of "
                      "802.1ad: a port looks at tags of one type",
                      name, m.port);
    if (m.neigh_suppress && !in.is_tunnel(*i))
        return refuse(b.where,
                      "bridge '{}': '{}' has neigh_suppress and is not a tunnel: neigh_suppress "
                      "applies to tunnels only",
                      name, m.port);
    if (in.is_tunnel(*i))
        return {};  // frames too long for a tunnel cause an ICMP error, or are dropped
    const std::string& first_port =
        std::find_if(b.members.begin(), b.members.end(), [&](const bridge_member& o) {
            return in.tunnels.find(o.port) == nullptr;
        })->port;
    const uint16_t mtu = in.ports.at(m.port).mtu, first = in.ports.at(first_port).mtu;
    if (mtu != first)
        return refuse(b.where,
                      "bridge '{}': '{}' (mtu {}) and '{}' (mtu {}) would lose longer frames "
                      "between them; give both the same mtu",
                      name, first_port, first, m.port, mtu);
    return {};
}

/// A VTEP that receives flooded frames through a group must be isolated from the group, or it would receive its own frames.
result<void> check_groups(const configuration& in, const std::string& name, const bridge& b) {
    for (const bridge_member& group : b.members) {
        const tunnel* const to = in.tunnels.find(group.port);
        if (to == nullptr || !to->to_group()) continue;
        for (const bridge_member& m : b.members)
            if (const tunnel* const t = in.tunnels.find(m.port);
                t != nullptr && t->is_behind(*to) && m.isolation != group.isolation)
                return refuse(b.where,
                              "bridge '{}': '{}' is of another isolation group than '{}', the "
                              "tunnel to its group: it would receive its own frames",
                              name, m.port, group.port);
    }
    return {};
}

/// Frames to the bridge's routed interfaces are the router's: it has no static FDB entry for their MAC addresses.
result<void> check_own_stations(const configuration& in, const std::string& name, const bridge& b) {
    for (const auto& [routing, i] : in.interfaces) {
        if (!i.port.empty() || i.bridge != name) continue;
        std::vector<mac_address> own = i.extra_macs;
        if (b.mac) own.push_back(*b.mac);
        for (const mac_address& mac : own)
            if (b.fixed.contains({mac, i.vlan}))
                return refuse(b.where,
                              "bridge '{}': station {} has the MAC address of the routing "
                              "interface '{}'",
                              name, mac.text(), routing);
    }
    return {};
}

result<void> check_bridge(const configuration& in, const std::string& name, const bridge& b) {
    if (b.members.empty()) return refuse(b.where, "bridge '{}' has no members", name);
    for (const bridge_member& m : b.members)
        if (auto good = check_member(in, name, b, m); !good) return good;
    if (auto good = check_groups(in, name, b); !good) return good;
    for (const auto& [fdb_entry, port] : b.fixed) {
        if (b.member(port) == nullptr)
            return refuse(b.where, "bridge '{}': station {} is behind '{}', which is not a member",
                          name, fdb_entry.mac.text(), port);
        const bridge_member& m = *b.member(port);
        if (fdb_entry.vlan != 0 && fdb_entry.vlan != m.vlan &&
            !m.tagged_vlans().test(fdb_entry.vlan))
            return refuse(b.where, "bridge '{}': station {} is behind '{}', which has no VLAN {}",
                          name, fdb_entry.mac.text(), port, fdb_entry.vlan);
        if ((fdb_entry.vlan != 0) != b.vlan_aware())
            return refuse(b.where,
                          "bridge '{}': station {} {} a VLAN, and the bridge {} VLAN-aware", name,
                          fdb_entry.mac.text(), fdb_entry.vlan != 0 ? "has" : "should have",
                          b.vlan_aware() ? "is" : "is not");
    }
    if (auto good = check_own_stations(in, name, b); !good) return good;
    for (const auto& [routing, i] : in.interfaces)
        if (i.port.empty() && i.bridge == name && (i.vlan != 0) != b.vlan_aware())
            return refuse(b.where, "bridge '{}' {} VLAN-aware: its routing interface '{}' {}", name,
                          b.vlan_aware() ? "is" : "is not", routing,
                          i.vlan != 0 ? "can have none" : "should be of one");
    return {};
}

}  // namespace

void check_bridges(const configuration& in, errors& found) {
    size_t with = 0, without = 0;
    for (const auto& [name, b] : in.bridges) {
        add_error(found, check_bridge(in, name, b));
        ++(b.vlan_aware() ? with : without);
        if (with > max_ports_with_vlans || without > max_without)
            return add_error(
                found,
                refuse(b.where, "bridge '{}' is one more than {} {}", name,
                       with > max_ports_with_vlans ? max_ports_with_vlans : max_without,
                       with > max_ports_with_vlans ? "VLAN-aware ones" : "ones without VLANs"));
    }
}

}  // namespace turnpike::state
