// SPDX-License-Identifier: BSD-3-Clause
#include "state/next_hop_rules.hpp"

#include <algorithm>

#include "state/errors.hpp"

namespace turnpike::state {

bool may_both_be(const ip_prefix& a, const ip_prefix& b) noexcept {
    if (a.address == b.address) return a.length == a.address.bits() || b.length == b.address.bits();
    return !a.contains(b.address) && !b.contains(a.address);
}

bool is_network_or_broadcast(const ip_prefix& p) noexcept {
    if (p.address.v6 || p.length >= 31) return false;
    const uint32_t mask = 0xffff'ffffU >> p.length;
    return (p.address.v4() & mask) == 0 || (p.address.v4() & mask) == mask;
}

result<std::string> neighbour_finder::interface_of(const ip_address& neighbour,
                                                   std::string_view named, bool onlink) {
    if (onlink) return find(neighbour, named, true);
    std::pair key{neighbour, std::string(named)};
    if (const auto known = found_.find(key); known != found_.end()) return known->second;
    auto found = find(neighbour, named, false);
    if (found) found_.emplace(std::move(key), *found);
    return found;
}

result<std::string> neighbour_finder::find(const ip_address& neighbour, std::string_view named,
                                           bool onlink) const {
    const std::string text = neighbour.text();
    const auto wrong = [&](const std::string& why) { return refuse("is {}, {}", text, why); };
    std::string vrf = vrf_;
    if (!named.empty()) {
        const interface* i = in_.interfaces.find(named);
        if (i == nullptr) return wrong(fmt::format("on '{}', which is not a port", named));
        if (!i->has_ip()) return wrong(fmt::format("on '{}', which has no addresses", named));
        vrf = i->vrf;
    }
    if (neighbour.is_link_local()) {
        if (!named.empty()) return std::string(named);
        return wrong("a link-local address: say on which port, as in {" + std::string("via: \"") +
                     text + "\", port: NAME}");
    }
    if (onlink && named.empty()) return wrong("which is to be on a link: say on which port's");
    for (const auto& [name, i] : in_.interfaces)
        for (const ip_prefix& a : i.addresses) {
            if (onlink && (i.vrf != vrf || a.address != neighbour)) continue;
            if (i.vrf != vrf || !a.contains(neighbour)) continue;
            if (a.address == neighbour) return wrong("our own address");
            if (is_network_or_broadcast({neighbour, a.length}))
                return wrong("the network's own or broadcast address of " + a.text());
            if (!named.empty() && name != named)
                return wrong(fmt::format("on the network of '{}', not of '{}'", name, named));
            return name;
        }
    if (onlink) return std::string(named);
    return wrong("which is on no port's network" + (vrf.empty() ? "" : " in VRF '" + vrf + "'"));
}

result<void> neighbour_finder::check_link(std::string_view named) const {
    const auto wrong = [&](const std::string& why) {
        return refuse("names '{}', which {}", named.substr(0, 80), why);
    };
    const interface* i = in_.interfaces.find(named);
    if (i == nullptr) return wrong("is not a port");
    if (!i->has_ip()) return wrong("has no addresses");
    if (i->vrf != vrf_) return wrong("is in another VRF: the way there is by a gateway (via)");
    return {};
}

result<void> check_recursive(const ip_address& via) {
    const auto wrong = [&](const std::string& why) { return refuse("is {}, {}", via.text(), why); };
    if (via.is_link_local())
        return wrong("a link-local address, which cannot be recursive: name its port instead");
    if (!via.is_host()) return wrong("which cannot be a host's address");
    return {};
}

result<void> arrange_members(std::vector<route_member>& members) {
    if (members.empty()) return refuse("names no next hop");
    if (members.size() > max_route_members)
        return refuse("has {} next hops; {} are the most", members.size(), max_route_members);
    const bool several = members.size() > 1;
    if (several &&
        std::any_of(members.begin(), members.end(), [](const auto& m) { return !m.via; }))
        return refuse("has several next hops, and one of them has no gateway");
    std::sort(members.begin(), members.end());
    const auto twice = std::adjacent_find(members.begin(), members.end(),
                                          [](const route_member& a, const route_member& b) {
                                              return a.via == b.via && a.interface == b.interface;
                                          });
    if (twice != members.end())
        return refuse("has the next hop {}{} twice; give it a weight instead", twice->via->text(),
                      twice->interface.empty() ? "" : " on '" + twice->interface + "'");
    if (members.size() == 1) members.front().weight = 1;
    return {};
}

result<void> check_family(const ip_address& via, const ip_prefix& to) {
    if (via.v6 || !to.address.v6) return {};
    return refuse("is {}, of IPv4, and {} is of IPv6", via.text(), to.text());
}

result<void> check_routed_prefix(const ip_prefix& to) {
    if (to != to.network())
        return refuse("is {}, which has host bits set: it should be {}", to.text(),
                      to.network().text());
    if (to.length >= 4 && to.address.is_multicast())
        return refuse("is {}; multicast is not routed", to.text());
    return {};
}

result<void> check_mtu(uint16_t mtu, const ip_prefix& to) {
    const uint16_t least = min_mtu(to.address.v6);
    if (mtu == 0 || mtu >= least) return {};
    return refuse("is {}; links of this family have at least {} bytes", mtu, least);
}

}  // namespace turnpike::state
