// SPDX-License-Identifier: BSD-3-Clause
#include "sources/netlink_rib.hpp"

#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "state/next_hop_rules.hpp"

namespace turnpike::sources {
namespace {

using state::route_target;
using state::route_type;

bool is_host(const ip_address& a) noexcept {
    if (a.is_link_local() || a.is_multicast()) return false;
    if (!a.v6) return a.bytes[0] != 127 && a.bytes[0] != 0;
    constexpr ip_address loopback{.v6 = true,
                                  .bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
    return a != loopback;
}

ip_prefix host_of(const ip_address& a) { return {a, static_cast<uint8_t>(a.bits())}; }

/// Whether a destination can be on-link: not multicast or link-local.
bool may_be_on_link(const ip_prefix& to) noexcept {
    return !to.address.is_link_local() && !(to.length >= 4 && to.address.is_multicast());
}

constexpr route_target to_ourselves{.type = route_type::local, .protocol = RTPROT_KERNEL};

}  // namespace

const std::string* netlink_rib::name_of(uint32_t interface) const noexcept {
    const auto at = ours_.interfaces.find(interface);
    return at == ours_.interfaces.end() ? nullptr : &at->second;
}

netlink_rib::in_table netlink_rib::table_of(const std::string& vrf) {
    return {tables_[vrf], vrf.empty() ? learned_.routes : learned_.vrf_routes[vrf]};
}

size_t netlink_rib::others() const noexcept {
    size_t n = 0;
    for (const auto& [vrf, t] : tables_) n += t.elsewhere.size();
    return n;
}

void netlink_rib::take(const netlink::message& m) {
    if (const auto* r = std::get_if<netlink::route>(&m.what)) return take_route(*r);
    if (const auto* l = std::get_if<netlink::link>(&m.what)) return take_link(*l);
    if (const auto* a = std::get_if<netlink::address>(&m.what)) return take_address(*a);
    if (const auto* h = std::get_if<netlink::next_hop>(&m.what)) return take_next_hop(*h);
    if (const auto* n = std::get_if<netlink::neighbour>(&m.what)) return take_neighbour(*n);
}

void netlink_rib::set_ours(followed ours) {
    for (const auto& [number, vrf] : ours_.vrfs) {
        const auto still = ours.vrfs.find(number);
        if (still != ours.vrfs.end() && still->second == vrf) continue;
        tables_.erase(vrf);
        learned_.vrf_routes.erase(vrf);
    }
    for (const auto& [index, name] : ours_.interfaces) {
        const auto still = ours.interfaces.find(index);
        if (still != ours.interfaces.end() && still->second == name) continue;
        remove_by(name, false);
        addresses_.erase(index);
        neighbours_.erase(index);
    }
    // Addresses of newly mirrored interfaces were stored as local routes.
    for (const auto& [index, name] : ours.interfaces)
        if (const auto here = addresses_.find(index);
            !ours_.interfaces.contains(index) && here != addresses_.end())
            for (const ip_prefix& a : here->second)
                remove(table_of({}), host_of(a.address), to_ourselves.metric);
    ours_ = std::move(ours);
    show_addresses();
    show_neighbours();
}

/// When an interface goes down, the kernel removes its IPv4 routes without notifications (IPv6 routes with).
void netlink_rib::take_link(const netlink::link& l) {
    if (l.gone) {
        if (addresses_.erase(l.index) != 0) show_addresses();
        if (neighbours_.erase(l.index) != 0) show_neighbours();
    }
    if (!l.gone && l.up) return;
    if (const std::string* name = name_of(l.index)) remove_by(*name, !l.gone);
}

/// An address without IFA_F_PERMANENT comes from a router advertisement or DHCP, which any host on the link can send.
void netlink_rib::take_address(const netlink::address& a) {
    if (a.peer || !is_host(a.local.address)) return;
    const bool leaves = a.gone || (a.flags & IFA_F_PERMANENT) == 0;
    std::set<ip_prefix>& here = addresses_[a.interface];
    const bool other = leaves ? here.erase(a.local) != 0 : here.insert(a.local).second;
    if (!other) return;
    doubtful_ |= a.gone && !a.local.address.v6;  // the kernel removes its routes silently
    if (name_of(a.interface) != nullptr) return show_addresses();
    if (leaves)
        remove(table_of({}), host_of(a.local.address), to_ourselves.metric);
    else
        put(table_of({}), host_of(a.local.address), to_ourselves);
}

void netlink_rib::show_addresses() {
    learned_.addresses.clear();
    for (const auto& [index, all] : addresses_)
        if (const std::string* name = name_of(index); name != nullptr && !all.empty())
            learned_.addresses[*name].assign(all.begin(), all.end());
    changed_ = true;
}

/// Ignores entries of daemons (extern_learn, e.g. EVPN) and proxy entries.
void netlink_rib::take_neighbour(const netlink::neighbour& n) {
    const bool counts = !n.gone && (n.state & NUD_PERMANENT) != 0 &&
                        (n.flags & (NTF_EXT_LEARNED | NTF_PROXY)) == 0 && !n.at.is_multicast() &&
                        n.mac && !n.mac->is_group() && *n.mac != mac_address{};
    if (!counts && neighbours_.empty()) return;  // most entries are ignored
    const std::string* name = name_of(n.interface);
    if (counts) {
        neighbours_[n.interface].insert_or_assign(n.at, *n.mac);
        if (name == nullptr) return;
        mac_address& known = learned_.neighbours[{*name, n.at}];
        changed_ |= std::exchange(known, *n.mac) != *n.mac;
    } else if (const auto here = neighbours_.find(n.interface);
               here != neighbours_.end() && here->second.erase(n.at) != 0 && name != nullptr) {
        changed_ |= learned_.neighbours.erase({*name, n.at}) != 0;
    }
}

void netlink_rib::show_neighbours() {
    learned_.neighbours.clear();
    for (const auto& [index, all] : neighbours_)
        if (const std::string* name = name_of(index))
            for (const auto& [at, mac] : all)
                learned_.neighbours.emplace(state::neighbour_name{*name, at}, mac);
    changed_ = true;
}

/// When a nexthop object is deleted, the kernel deletes its routes; when it changes, the kernel sends route notifications
/// only with net.ipv4.nexthop_compat_mode.
void netlink_rib::take_next_hop(const netlink::next_hop& h) {
    const auto there = next_hops_.find(h.id);
    if (there != next_hops_.end())
        doubtful_ |= !there->second.group.empty() || leads_by(there->second.path);
    if (h.gone)
        next_hops_.erase(h.id);
    else
        next_hops_.insert_or_assign(h.id, h);
}

bool netlink_rib::leads_by(const netlink::hop& path) const {
    const std::string* name = name_of(path.interface);
    if (name == nullptr) return false;
    const auto leads = [&](const route_target& t) {
        return std::any_of(t.members.begin(), t.members.end(), [&](const state::route_member& m) {
            return m.interface == *name && path.via == m.via;
        });
    };
    const auto any = [&](const state::route_set& routes) {
        const auto targets = routes.targets();
        return std::any_of(targets.begin(), targets.end(), leads);
    };
    return any(learned_.routes) ||
           std::any_of(learned_.vrf_routes.begin(), learned_.vrf_routes.end(),
                       [&](const auto& of) { return any(of.second); });
}

/// The next hops of a nexthop object. None: a blackhole.
std::optional<std::vector<netlink::hop>> netlink_rib::paths_of(uint32_t id) const {
    std::vector<netlink::hop> out;
    const auto at = next_hops_.find(id);
    if (at == next_hops_.end()) return out;
    if (at->second.blackhole) return std::nullopt;
    if (at->second.group.empty()) return std::vector{at->second.path};
    for (const auto& m : at->second.group)
        if (const auto member = next_hops_.find(m.id); member != next_hops_.end()) {
            out.push_back(member->second.path);
            out.back().weight = m.weight;
        }
    return out;
}

/// None: not via a mirrored interface.
std::optional<route_target> netlink_rib::target_of(const netlink::route& r) const {
    route_target out{.protocol = r.protocol, .metric = r.metric};
    const auto sends_nothing = [&](route_type type) {
        out.type = type;
        return out;
    };
    if (r.type == RTN_BLACKHOLE) return sends_nothing(route_type::blackhole);
    if (r.type == RTN_UNREACHABLE) return sends_nothing(route_type::unreachable);
    if (r.type == RTN_PROHIBIT) return sends_nothing(route_type::prohibit);
    const std::vector<netlink::hop>* hops = &r.hops;
    std::optional<std::vector<netlink::hop>> by_id;
    if (hops->empty() && r.next_hop != 0) {
        by_id = paths_of(r.next_hop);
        if (!by_id) return sends_nothing(route_type::blackhole);
        hops = &*by_id;
    }
    for (const netlink::hop& h : *hops) {
        const std::string* name = name_of(h.interface);
        if (name == nullptr || (h.flags & RTNH_F_DEAD) != 0) continue;
        if (!h.via && (hops->size() > 1 || !may_be_on_link(r.to))) continue;
        const auto there = std::find_if(
            out.members.begin(), out.members.end(),
            [&](const state::route_member& m) { return m.via == h.via && m.interface == *name; });
        if (there == out.members.end() && out.members.size() < state::max_route_members)
            out.members.push_back({h.via, *name, std::min(h.weight, state::max_member_weight)});
    }
    if (!state::arrange_members(out.members)) return std::nullopt;
    return out;
}

void netlink_rib::take_route(const netlink::route& r) {
    static const std::string main;
    const auto vrf = ours_.vrfs.find(r.table);
    if (r.table != RT_TABLE_MAIN && vrf == ours_.vrfs.end()) return;
    if (r.tos != 0 || (r.flags & RTM_F_CLONED) != 0) return;
    if (r.type != RTN_UNICAST && r.type != RTN_BLACKHOLE && r.type != RTN_UNREACHABLE &&
        r.type != RTN_PROHIBIT)
        return;
    // Router advertisements and redirects are for hosts, and any host on the link can send them.
    if (r.protocol == RTPROT_RA || r.protocol == RTPROT_REDIRECT) return;
    // A connected route, which turnpike derives from its own addresses.
    if (r.protocol == RTPROT_KERNEL && !(r.hops.size() == 1 && r.hops.front().via)) return;
    const in_table in = table_of(r.table == RT_TABLE_MAIN ? main : vrf->second);
    const route_target* there = in.routes.find(r.to);
    const bool beside =
        there != nullptr && there->metric == r.metric && there->type != route_type::local;
    // Another route with the same metric: in IPv4 the first is active, in IPv6 both form a multipath route.
    if (!r.gone && r.appended && beside) {
        if (r.to.address.v6)
            doubtful_ = true;
        else
            in.of.appended.insert(r.to);
        return;
    }
    const auto target = target_of(r);
    if (r.gone) {
        in.of.elsewhere.erase({r.to, r.metric});
        if (!in.of.appended.empty() && in.of.appended.erase(r.to) != 0) doubtful_ = true;
        if (target && beside && !take_members(in, r.to, *there, *target)) return;
        return remove(in, r.to, r.metric);
    }
    if (!target) {
        in.of.elsewhere.emplace(r.to, r.metric);
        return remove(in, r.to, r.metric);
    }
    if (!in.of.elsewhere.empty()) in.of.elsewhere.erase({r.to, r.metric});
    put(in, r.to, *target);
}

/// Removes single next hops of an IPv6 multipath route. Returns false if others remain.
bool netlink_rib::take_members(in_table in, const ip_prefix& to, const route_target& from,
                               const route_target& gone) {
    route_target left = from;
    std::erase_if(left.members, [&](const state::route_member& m) {
        return std::any_of(gone.members.begin(), gone.members.end(),
                           [&](const state::route_member& g) {
                               return g.via == m.via && g.interface == m.interface;
                           });
    });
    if (left.members.empty()) return true;
    if (left.members.size() == 1) left.members.front().weight = 1;
    put(in, to, left);
    return false;
}

void netlink_rib::put(in_table in, const ip_prefix& to, const route_target& t) {
    const route_target* there = in.routes.find(to);
    const auto several = in.of.several.empty() ? in.of.several.end() : in.of.several.find(to);
    if (several == in.of.several.end() && (there == nullptr || there->metric == t.metric)) {
        if (there != nullptr && *there == t) return;
        in.routes.set(to, t);
        changed_ = true;
        return;
    }
    auto& all = several == in.of.several.end() ? in.of.several[to] : several->second;
    if (all.empty()) all.push_back(*there);
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const route_target& a) { return a.metric == t.metric; });
    if (at == all.end())
        all.push_back(t);
    else
        *at = t;
    show_best(in, to);
}

void netlink_rib::remove(in_table in, const ip_prefix& to, uint32_t metric) {
    const auto several = in.of.several.empty() ? in.of.several.end() : in.of.several.find(to);
    if (several != in.of.several.end()) {
        std::erase_if(several->second, [&](const route_target& a) { return a.metric == metric; });
        return show_best(in, to);
    }
    const route_target* there = in.routes.find(to);
    if (there == nullptr || there->metric != metric) return;
    in.routes.remove(to);
    changed_ = true;
}

void netlink_rib::show_best(in_table in, const ip_prefix& to) {
    const auto at = in.of.several.find(to);
    const auto best =
        std::min_element(at->second.begin(), at->second.end(),
                         [](const auto& a, const auto& b) { return a.metric < b.metric; });
    changed_ = true;
    if (best == at->second.end())
        in.routes.remove(to);
    else
        in.routes.set(to, *best);
    if (at->second.size() < 2) in.of.several.erase(at);
}

void netlink_rib::remove_by(const std::string& interface, bool v4_only) {
    for (auto& [vrf, t] : tables_) remove_by(table_of(vrf), interface, v4_only);
}

void netlink_rib::remove_by(in_table in, const std::string& interface, bool v4_only) {
    const auto is_by = [&](const state::route_member& m) { return m.interface == interface; };
    std::vector<ip_prefix> touched;
    for (auto& [to, all] : in.of.several) {
        if (v4_only && to.address.v6) continue;
        if (std::erase_if(all, [&](route_target& t) {
                return std::erase_if(t.members, is_by) != 0 && t.members.empty();
            }) != 0)
            touched.push_back(to);
    }
    for (const ip_prefix& to : touched) show_best(in, to);
    if (!v4_only) {
        changed_ |= state::change_members(in.routes, std::not_fn(is_by));
        return;
    }
    // Keep the IPv6 routes: the kernel sends notifications for them.
    std::vector<std::pair<ip_prefix, route_target>> v6;
    const auto targets = in.routes.targets();
    for (auto at = in.routes.lower_bound({ip_address{.v6 = true}, 0}); at != in.routes.end(); ++at)
        if (const route_target& t = targets[at->target];
            std::any_of(t.members.begin(), t.members.end(), is_by))
            v6.emplace_back(at->to, t);
    changed_ |= state::change_members(in.routes, std::not_fn(is_by));
    for (const auto& [to, t] : v6) in.routes.set(to, t);
}

std::string protocol_name(uint8_t protocol) {
    // linux/rtnetlink.h; FRR uses 196 for its static routes.
    static constexpr std::pair<uint8_t, const char*> all[] = {
        {1, "redirect"}, {2, "kernel"}, {3, "boot"},    {4, "static"},  {9, "ra"},    {11, "zebra"},
        {12, "bird"},    {16, "dhcp"},  {42, "babel"},  {99, "openr"},  {186, "bgp"}, {187, "isis"},
        {188, "ospf"},   {189, "rip"},  {192, "eigrp"}, {196, "static"}};
    for (const auto& [number, name] : all)
        if (number == protocol) return name;
    return std::to_string(protocol);
}

}  // namespace turnpike::sources
