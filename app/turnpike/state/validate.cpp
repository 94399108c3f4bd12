// SPDX-License-Identifier: BSD-3-Clause
#include "state/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "state/next_hop_rules.hpp"

namespace turnpike::state {
namespace {

result<void> refuse(const origin& where, std::string text) {
    return fail(EINVAL, where.text, std::move(text));
}

/// An lcore may poll several queues of a port. Which lcores there are where `workers` names none, only
/// EAL knows.
result<void> check_rx_workers(const desired& in, const std::string& name, const port& p) {
    if (p.rx_workers.size() > p.rx_queues)
        return refuse(p.where, fmt::format("port '{}': rx_workers names {} lcores for {} queues",
                                           name, p.rx_workers.size(), p.rx_queues));
    for (const unsigned lcore : p.rx_workers)
        if (!in.workers.empty() &&
            std::find(in.workers.begin(), in.workers.end(), lcore) == in.workers.end())
            return refuse(p.where,
                          fmt::format("port '{}': rx_workers names lcore {}, which is none of "
                                      "the workers",
                                      name, lcore));
    return {};
}

result<void> check_ports(const desired& in) {
    if (in.ports.empty())
        return fail(EINVAL, in.file, "ports is empty; there is nothing to forward");
    for (const auto& [name, p] : in.ports)
        if (auto good = check_rx_workers(in, name, p); !good) return good;
    std::map<std::string, std::string> whose;
    for (const auto& [name, p] : in.ports)
        if (const auto [there, fresh] = whose.emplace(device_name(p.device), name); !fresh)
            return refuse(p.where, fmt::format("port '{}' has the device '{}', which port '{}' has "
                                               "already; each port has its own",
                                               name, there->first, there->second));
    return {};
}

/// What is done with a port's packets: routed or patched.
result<void> check_use(const desired& in, const std::string& name, const interface& i) {
    const port& on = in.ports.at(i.port);
    if (i.kind == interface_kind::patched) {
        if (!i.addresses.empty())
            return refuse(i.where,
                          fmt::format("port '{}' has addresses and is in a patch: it can route or "
                                      "be patched, not both",
                                      name));
        const port& other = in.ports.at(in.interfaces.at(i.peer).port);
        if (on.mtu != other.mtu)
            return refuse(
                i.where,
                fmt::format("the patch of '{}' (mtu {}) and '{}' (mtu {}) would lose longer frames "
                            "of one side; give both the same mtu",
                            name, on.mtu, i.peer, other.mtu));
    } else if (i.addresses.empty()) {
        return refuse(i.where, fmt::format("port '{}' has no addresses and is in no patch: nothing "
                                           "could be done with its packets",
                                           name));
    }
    const bool v6 = std::any_of(i.addresses.begin(), i.addresses.end(),
                                [](const ip_prefix& p) { return p.address.v6; });
    if (v6 && on.mtu < 1280)
        return refuse(i.where, fmt::format("port '{}' has an mtu of {}; with IPv6 it should be at "
                                           "least 1280 (RFC 8200 section 5)",
                                           name, on.mtu));
    for (const std::string& list : {i.acl_in, i.acl_out})
        if (!list.empty() && in.acls.find(list) == nullptr)
            return refuse(
                i.where,
                fmt::format("port '{}' is bound to '{}', which is not an access list", name, list));
    return {};
}

/// Two interfaces on one network could not tell which of them a neighbour is behind.
result<void> check_networks(const desired& in) {
    for (auto i = in.interfaces.begin(); i != in.interfaces.end(); ++i)
        for (auto k = in.interfaces.begin(); k != i; ++k)
            for (const ip_prefix& a : i->second.addresses)
                for (const ip_prefix& b : k->second.addresses)
                    if (a.contains(b.address) || b.contains(a.address))
                        return refuse(i->second.where,
                                      fmt::format("port '{}' has {}, which overlaps {} of port "
                                                  "'{}'",
                                                  i->first, a.text(), b.text(), k->first));
    return {};
}

result<void> check_interfaces(const desired& in) {
    std::map<ip_address, std::string> owners;
    for (const auto& [name, i] : in.interfaces) {
        if (auto good = check_use(in, name, i); !good) return good;
        for (const ip_prefix& a : i.addresses)
            if (const auto [there, fresh] = owners.emplace(a.address, name); !fresh)
                return refuse(i.where, fmt::format("port '{}' has {}, which port '{}' has already",
                                                   name, a.address.text(), there->second));
    }
    return check_networks(in);
}

/// Buffers must hold what turnpike itself makes, and what drivers ask of theirs.
result<void> check_buffers(const desired& in) {
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
    if (in.fixed.pool.buffer_size >= least) return {};
    return refuse(in.fixed.pool.where,
                  fmt::format("mempool.buffer_size is {}; it should be at least {}: {}",
                              in.fixed.pool.buffer_size, least, why));
}

result<void> check_routes(const desired& in) {
    const auto wrong = find_wrong_route(in);
    if (!wrong) return {};
    return fail(EINVAL, in.file, fmt::format("routes: {} {}", wrong->to.text(), wrong->why));
}

result<void> check_neighbours(const desired& in) {
    neighbour_finder find(in);
    for (const auto& [name, n] : in.neighbours)
        if (const auto found = find.interface_of(name.address, name.interface); !found)
            return refuse(n.where, "neighbours.static: the address " + found.error().text);
    if (in.neighbours.size() <= in.limits.limit / 2) return {};
    return fail(EINVAL, in.file,
                fmt::format("neighbours.static has more than half of the limit of {} neighbours",
                            in.limits.limit));
}

}  // namespace

std::optional<wrong_route> find_wrong_route(const desired& in) {
    neighbour_finder find(in);
    std::vector<std::string> why(in.routes.targets().size());
    bool any = false;
    for (size_t t = 0; t < why.size(); ++t) {
        const route_target& target = in.routes.targets()[t];
        if (target.type != route_type::unicast) continue;
        const auto found = find.interface_of(target.via, target.interface);
        if (found) continue;
        why[t] = "cannot be: its via " + found.error().text;
        any = true;
    }
    if (any)
        for (const route& r : in.routes)
            if (!why[r.target].empty()) return wrong_route{r.to, why[r.target]};
    for (const auto& [name, i] : in.interfaces)
        for (const ip_prefix& a : i.addresses) {
            const ip_prefix host{a.address, static_cast<uint8_t>(a.address.bits())};
            if (in.routes.at(host) != nullptr)
                return wrong_route{host, fmt::format("is our own address on port '{}'", name)};
            if (in.routes.at(a.network()) != nullptr)
                return wrong_route{a.network(),
                                   fmt::format("is there twice; a prefix has one route (port '{}' "
                                               "is on that network, which makes one)",
                                               name)};
        }
    return std::nullopt;
}

result<void> validate(const desired& in) {
    for (const auto check :
         {check_ports, check_interfaces, check_buffers, check_routes, check_neighbours})
        if (auto good = check(in); !good) return good;
    return {};
}

}  // namespace turnpike::state
