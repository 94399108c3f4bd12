// SPDX-License-Identifier: BSD-3-Clause
#include "state/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/hardware.hpp"
#include "state/bridge_rules.hpp"
#include "state/interface_networks.hpp"
#include "state/next_hop_rules.hpp"
#include "state/tunnel_rules.hpp"

namespace turnpike::state {
namespace {

/// An lcore may poll several queues of a port. Without `workers`, the lcores are EAL's, and cannot be
/// checked here.
result<void> check_rx_workers(const configuration& in, const std::string& name, const port& p) {
    if (p.rx_workers.size() > p.rx_queues)
        return refuse(p.where, "port '{}': rx_workers names {} lcores for {} queues", name,
                      p.rx_workers.size(), p.rx_queues);
    for (const unsigned lcore : p.rx_workers)
        if (!in.workers.empty() &&
            std::find(in.workers.begin(), in.workers.end(), lcore) == in.workers.end())
            return refuse(p.where,
                          "port '{}': rx_workers names lcore {}, which is none of the workers",
                          name, lcore);
    return {};
}

/// Two ports on one device would both receive its frames, and each the other's.
result<void> check_device(const configuration& in, const std::string& name, const port& p) {
    for (const auto& [other, o] : in.ports) {
        if (other == name) break;
        const std::string &device = p.device, &there = o.device;
        if (!same_hardware(device, there)) continue;
        if (device_name_of(device) == device_name_of(there))
            return refuse(p.where, "port '{}' has the device '{}', which port '{}' has already",
                          name, device_name_of(device), other);
        const std::string kernels = kernel_interface_of(there);
        return refuse(p.where,
                      "port '{}' has the kernel's interface '{}', which port '{}' has already{}",
                      name, kernel_interface_of(device), other,
                      kernel_interface_of(device) == kernels ? "" : " as '" + kernels + "'");
    }
    return {};
}

void check_ports(const configuration& in, errors& found) {
    if (in.ports.empty())
        add_error(found, fail(EINVAL, in.file, "ports is empty; there is nothing to forward"));
    for (const auto& [name, p] : in.ports) add_error(found, check_rx_workers(in, name, p));
    for (const auto& [name, p] : in.ports) add_error(found, check_device(in, name, p));
}

/// Whether a port has VLAN sub-interfaces.
bool has_vlans(const configuration& in, const std::string& port) {
    return std::any_of(in.interfaces.begin(), in.interfaces.end(),
                       [&](const auto& i) { return i.second.port == port && i.second.vlan != 0; });
}

/// Whether a mirror sends its copies to a port.
bool has_copies(const configuration& in, const std::string& port) {
    return std::any_of(in.mirrors.begin(), in.mirrors.end(),
                       [&](const auto& m) { return m.second.to == port; });
}

result<void> check_patch(const configuration& in, const std::string& name, const interface& i) {
    if (!i.addresses.empty())
        return refuse(
            i.where,
            "port '{}' has addresses and is in a patch: it can route or be patched, not both",
            name);
    const port &on = in.ports.at(i.port), &other = in.ports.at(in.interfaces.at(i.peer).port);
    if (on.mtu != other.mtu)
        return refuse(i.where,
                      "the patch of '{}' (mtu {}) and '{}' (mtu {}) would lose longer frames of "
                      "one side; give both the same mtu",
                      name, on.mtu, i.peer, other.mtu);
    return {};
}

/// Checks an interface mirrored to the kernel.
result<void> check_kernel(const configuration& in, const std::string& name, const interface& i) {
    constexpr size_t longest = 15;  // IFNAMSIZ
    if (i.kind != interface_kind::routed)
        return refuse(i.where,
                      "port '{}' has host_interface: true, and is in a patch or a bridge; only "
                      "routed interfaces can have it",
                      name);
    if (!in.control_plane.netlink)
        return refuse(
            i.where,
            "port '{}' has host_interface: true, which needs control_plane: {{netlink: true}}",
            name);
    if (name.size() > longest || name.find_first_of("/: %") != std::string::npos || name == "." ||
        name == ".." || name == "lo" || name == "all" || name == "default")
        return refuse(i.where,
                      "'{}' cannot be the name of a kernel interface: it has at most {} "
                      "characters, none of \"/: %\", and is not a reserved name",
                      name, longest);
    return {};
}

result<void> check_lists(const configuration& in, const std::string& name, const interface& i) {
    for (const acl_binding& at : acl_bindings) {
        const std::string& bound = i.*at.list;
        if (bound.empty()) continue;
        const shared<acl_list>* const list = in.acls.find(bound);
        if (list == nullptr)
            return refuse(i.where, "port '{}' is bound to '{}', which is not an access list", name,
                          bound);
        if ((*list)->l2 != at.l2)
            return refuse(i.where,
                          "port '{}' has '{}' as its list '{}': that should be one of layer {}",
                          name, bound, at.name, at.l2 ? 2 : 3);
        if (at.l2 && i.kind != interface_kind::bridged)
            return refuse(i.where,
                          "port '{}' has the L2 list '{}' and is in no bridge: only bridge ports "
                          "can have L2 lists",
                          name, bound);
    }
    return {};
}

void check_vrfs(const configuration& in, errors& found) {
    constexpr size_t most = 255;
    if (in.vrfs.size() > most)
        return add_error(found, fail(EINVAL, in.file, fmt::format("more than {} VRFs", most)));
    std::map<uint32_t, std::string> whose;
    for (const auto& [name, v] : in.vrfs)
        if (const auto [there, fresh] = whose.emplace(v.table, name); !fresh)
            add_error(found,
                      refuse(v.where, "VRF '{}' has the table {}, which VRF '{}' has already", name,
                             v.table, there->second));
}

/// The first key of a port that applies to routed packets only; empty: none.
std::string_view routing_key_of(const interface& i) {
    if (!i.acl_in.empty() || !i.acl_out.empty()) return "acl";
    if (!i.vrf.empty()) return "vrf";
    if (i.urpf != reverse_path::off) return "urpf";
    if (!i.extra_macs.empty()) return "extra_macs";
    if (i.send_redirects) return "send_redirects";
    if (i.accept_source_route) return "accept_source_route";
    return {};
}

/// A port without addresses, for VLANs or copies of mirrors: a filter that it does not apply must not look configured.
result<void> check_port_without_ip(const std::string& name, const interface& i) {
    if (const std::string_view key = routing_key_of(i); !key.empty())
        return refuse(i.where,
                      "port '{0}' has {1}, which needs addresses: interfaces of the port's VLANs "
                      "have their own {1}",
                      name, key);
    return {};
}

/// Checks the use of a port: routed, patched or bridged.
result<void> check_use(const configuration& in, const std::string& name, const interface& i) {
    if (in.is_tunnel(i) && (!i.addresses.empty() || i.host_interface))
        return refuse(i.where, "tunnel '{}' has addresses: its bridge may have them instead", name);
    if (i.kind == interface_kind::patched)
        if (auto good = check_patch(in, name, i); !good) return good;
    if (i.kind == interface_kind::bridged && !i.addresses.empty())
        return refuse(i.where,
                      "port '{}' has addresses and is in bridge '{}', which may have them instead",
                      name, i.bridge);
    const bool carries =
        !i.port.empty() && i.vlan == 0 && (has_vlans(in, i.port) || has_copies(in, i.port));
    const bool has_no_ip = i.kind == interface_kind::routed && !i.has_ip() && !in.is_tunnel(i);
    if (has_no_ip && !carries)
        return refuse(i.where,
                      "port '{}' has no addresses and is in no patch, no bridge and no mirror: "
                      "nothing could be done with its packets",
                      name);
    if (!i.vrf.empty() && in.vrfs.find(i.vrf) == nullptr)
        return refuse(i.where, "port '{}' is in '{}', which is not a VRF", name, i.vrf);
    if (!i.vrf.empty() && i.kind != interface_kind::routed)
        return refuse(i.where, "port '{}' is in VRF '{}' and does not route", name, i.vrf);
    if (i.host_interface)
        if (auto good = check_kernel(in, name, i); !good) return good;
    if (i.urpf != reverse_path::off && i.kind != interface_kind::routed)
        return refuse(i.where, "port '{}' has urpf and does not route", name);
    if (!i.extra_macs.empty() && i.kind != interface_kind::routed)
        return refuse(i.where,
                      "port '{}' has extra_macs and does not route: it takes frames to all of them",
                      name);
    if ((i.send_redirects || i.accept_source_route) && i.kind != interface_kind::routed)
        return refuse(i.where, "port '{}' has {} and does not route", name,
                      i.send_redirects ? "send_redirects" : "accept_source_route");
    if ((i.router_alert || i.accept_ra) && !i.host_interface)
        return refuse(i.where, "port '{}' has {}: true, which needs host_interface: true", name,
                      i.router_alert ? "router_alert" : "accept_ra");
    if (!i.passes.empty() && !i.host_interface)
        return refuse(i.where, "port '{}' has host_pass, which needs host_interface: true", name);
    const bool v6 = std::any_of(i.addresses.begin(), i.addresses.end(),
                                [](const ip_prefix& p) { return p.address.v6; });
    if (const uint16_t mtu = in.mtu_of(i); v6 && mtu < 1280)
        return refuse(
            i.where,
            "port '{}' has an mtu of {}; with IPv6 it should be at least 1280 (RFC 8200 section 5)",
            name, mtu);
    if (auto good = check_lists(in, name, i); !good) return good;
    return has_no_ip ? check_port_without_ip(name, i) : result<void>{};
}

std::string twice_or_overlaps(const std::string& name, const ip_prefix& a,
                              const interface_networks::owned& other) {
    if (other.address.address == a.address)
        return fmt::format("port '{}' has {}, which port '{}' has already", name, a.address.text(),
                           other.interface);
    return fmt::format("port '{}' has {}, which overlaps {} of port '{}'", name, a.text(),
                       other.address.text(), other.interface);
}

/// Interfaces must not overlap: a neighbour could be on either link.
void check_networks(const configuration& in, errors& found) {
    interface_networks all;
    for (const auto& [name, i] : in.interfaces)
        for (const ip_prefix& a : i.addresses) all.note(i.vrf, name, a.address);
    for (const auto& [name, i] : in.interfaces) {
        std::set<ip_address> own;
        for (const ip_prefix& a : i.addresses) {
            const bool is_twice = !own.insert(a.address).second;
            const auto* const other = all.find_overlap(i.vrf, name, a);
            if (is_twice || other != nullptr) {
                const auto owner = is_twice ? interface_networks::owned{name, a} : *other;
                add_error(found, refuse(i.where, "{}", twice_or_overlaps(name, a, owner)));
            }
            all.add(i.vrf, name, a);
        }
    }
}

void check_interfaces(const configuration& in, errors& found) {
    if (in.interfaces.size() > max_interfaces)
        return add_error(found,
                         fail(EINVAL, in.file,
                              fmt::format("has {} interfaces: ports, VLANs, tunnels and routing "
                                          "interfaces of bridges; at most {} are possible",
                                          in.interfaces.size(), max_interfaces)));
    for (const auto& [name, i] : in.interfaces) add_error(found, check_use(in, name, i));
    check_networks(in, found);
}

/// The first error only.
void mirror_errors(const configuration& in, errors& found) { add_error(found, check_mirrors(in)); }

/// Buffers must hold originated packets, and meet the drivers' minimum.
void check_buffers(const configuration& in, errors& found) {
    constexpr uint32_t headroom = 128, ethernet = 14;
    uint32_t least = 0;
    std::string why;
    const auto need = [&](uint32_t bytes, const std::string& what) {
        if (bytes <= least) return;
        least = bytes;
        why = what;
    };
    for (const auto& [name, p] : in.ports)
        if (p.device.starts_with("net_xsk"))
            need(256, "net_xsk (port '" + name + "') takes no less");
    for (const auto& [name, i] : in.interfaces)
        for (const ip_prefix& a : i.addresses)
            need(headroom + ethernet + (a.address.v6 ? 1280 : 576),
                 fmt::format("headroom and the ICMP errors of port '{}' take so many", name));
    if (in.fixed.pool.buffer_size >= least) return;
    add_error(found,
              refuse(in.fixed.pool.where, "mempool.buffer_size is {}; it should be at least {}: {}",
                     in.fixed.pool.buffer_size, least, why));
}

void check_routes(const configuration& in, errors& found) {
    const auto wrong = find_wrong_route(in);
    if (!wrong) return;
    const std::string of = wrong->vrf.empty() ? "" : " of VRF '" + wrong->vrf + "'";
    add_error(found, fail(EINVAL, in.file,
                          fmt::format("routes{}: {} {}", of, wrong->to.text(), wrong->why)));
}

void check_neighbours(const configuration& in, errors& found) {
    neighbour_finder find(in);
    for (const auto& [name, n] : in.neighbours)
        if (const auto link = find.interface_of(name.address, name.interface); !link)
            add_error(found,
                      refuse(n.where, "neighbours.static: the address {}", link.error().text));
    if (in.neighbours.size() > in.limits.limit / 2)
        add_error(
            found,
            fail(EINVAL, in.file,
                 fmt::format("neighbours.static has more than half of the limit of {} neighbours",
                             in.limits.limit)));
}

std::optional<wrong_route> find_wrong_route_of(const configuration& in, const std::string& vrf) {
    const route_set& routes = in.routes_of(vrf);
    neighbour_finder find(in, vrf);
    std::vector<std::string> why(routes.targets().size());
    bool any = false;
    for (size_t t = 0; t < why.size(); ++t) {
        for (const route_member& m : routes.targets()[t].members) {
            if (routes.targets()[t].recursive) {
                const auto good = check_recursive(*m.via);
                if (good) continue;
                why[t] = "cannot be: its via " + good.error().text;
            } else if (!m.via) {
                const auto good = find.check_link(m.interface);
                if (good) continue;
                why[t] = "cannot be: its port " + good.error().text;
            } else {
                const auto found = find.interface_of(*m.via, m.interface, m.onlink);
                if (found) continue;
                why[t] = "cannot be: its via " + found.error().text;
            }
            any = true;
        }
    }
    if (any)
        for (const route& r : routes)
            if (!why[r.target].empty()) return wrong_route{vrf, r.to, why[r.target]};
    for (const auto& [name, i] : in.interfaces)
        for (const ip_prefix& a : i.addresses) {
            if (i.vrf != vrf) break;
            const ip_prefix host{a.address, static_cast<uint8_t>(a.address.bits())};
            if (routes.at(host))
                return wrong_route{vrf, host, fmt::format("is our own address on port '{}'", name)};
            if (routes.at(a.network()))
                return wrong_route{vrf, a.network(),
                                   fmt::format("is there twice; a prefix has one route (port '{}' "
                                               "is on that network, which makes one)",
                                               name)};
        }
    return std::nullopt;
}

}  // namespace

std::optional<wrong_route> find_wrong_route(const configuration& in) {
    auto wrong = find_wrong_route_of(in, {});
    for (const auto& [name, v] : in.vrfs)
        if (!wrong) wrong = find_wrong_route_of(in, name);
    return wrong;
}

errors find_errors(const configuration& in) {
    errors found;
    for (const auto check :
         {check_ports, check_vrfs, check_bridges, check_interfaces, check_tunnels, mirror_errors,
          check_buffers, check_routes, check_neighbours})
        check(in, found);
    return found;
}

result<void> validate(const configuration& in) {
    errors found = find_errors(in);
    if (found.empty()) return {};
    return tl::unexpected<error>(std::move(found.front()));
}

}  // namespace turnpike::state
