// SPDX-License-Identifier: BSD-3-Clause
#include "sources/netlink_rib.hpp"

#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace turnpike::sources {
namespace {

using state::route_target;
using state::route_type;

/// Whether packets to a destination are routed: not multicast or link-local.
bool is_routed(const ip_prefix& to) noexcept {
    return !to.address.is_link_local() && !(to.length >= 4 && to.address.is_multicast());
}

const route_target to_ourselves{.type = route_type::local, .protocol = RTPROT_KERNEL};

}  // namespace

netlink_rib::netlink_rib(followed ours) : ours_(std::move(ours)) {
    tables_[RT_TABLE_MAIN];
    for (const auto& [number, vrf] : ours_.vrfs) tables_[number];
}

const std::string* netlink_rib::name_of(uint32_t interface) const noexcept {
    const auto at = ours_.interfaces.find(interface);
    return at == ours_.interfaces.end() ? nullptr : &at->second;
}

netlink_rib::table* netlink_rib::table_of(uint32_t number) {
    const auto at = tables_.find(number);
    return at == tables_.end() ? nullptr : &at->second;
}

/// l3mdev_fib_table()
uint32_t netlink_rib::fib_table_of(uint32_t interface) const noexcept {
    const auto at = links_.find(interface);
    if (at == links_.end()) return RT_TABLE_MAIN;
    if (at->second.vrf_table != 0) return at->second.vrf_table;  // the VRF device itself
    const auto master = links_.find(at->second.master);
    if (master != links_.end() && master->second.vrf_table != 0) return master->second.vrf_table;
    return RT_TABLE_MAIN;
}

state::route_set& netlink_rib::learned_of(uint32_t number) {
    return number == RT_TABLE_MAIN ? learned_.routes : learned_.vrf_routes[ours_.vrfs.at(number)];
}

void netlink_rib::apply(const netlink::message& m) {
    if (is_update(m)) {
        netlink::message in_place = m;
        std::get<netlink::route>(in_place.what).how = 0;
        return apply(in_place);
    }
    if (has_only_linkdown(m)) {
        netlink::message alive = m;
        for (netlink::nexthop& h : std::get<netlink::route>(alive.what).nexthops)
            if (is_only_linkdown(m, h)) h.flags &= static_cast<uint8_t>(~RTNH_F_DEAD);
        return apply(alive);
    }
    if (listed_ && mark(m)) return;
    if (const auto* r = std::get_if<netlink::route>(&m.what)) return apply_route(*r);
    if (const auto* l = std::get_if<netlink::link>(&m.what)) return apply_link(*l);
    if (const auto* a = std::get_if<netlink::address>(&m.what)) return apply_address(*a);
    if (const auto* h = std::get_if<netlink::next_hop>(&m.what)) {
        next_hop_request_ = {m.requester, m.sequence};
        return apply_next_hop(*h);
    }
    if (const auto* n = std::get_if<netlink::neighbour>(&m.what)) return apply_neighbour(*n);
}

/// fib6_rt_update(): a request that replaces a nexthop object is notified with NLM_F_REPLACE for each of its routes, too,
/// which remain in their order. So is a default route whose router advertises another preference (ndisc_router_discovery()).
bool netlink_rib::is_update(const netlink::message& m) const {
    const auto* const r = std::get_if<netlink::route>(&m.what);
    if (r == nullptr || !r->to.address.v6 || r->how != NLM_F_REPLACE) return false;
    if (m.requester == 0) return r->protocol == RTPROT_RA;
    return r->next_hop != 0 && next_hop_request_ == std::pair(m.requester, m.sequence);
}

/// fib_nexthop_info(): with ignore_routes_with_linkdown, a message calls a path without carrier dead. No path of an interface that is
/// up and has an IPv4 address is dead otherwise.
bool netlink_rib::is_only_linkdown(const netlink::message& m, const netlink::nexthop& h) const {
    constexpr uint8_t both = RTNH_F_DEAD | RTNH_F_LINKDOWN;
    if ((h.flags & both) != both || std::get<netlink::route>(m.what).to.address.v6) return false;
    const auto link = links_.find(h.interface);
    const auto addresses = ipv4_addresses_.find(h.interface);
    return link != links_.end() && link->second.up && addresses != ipv4_addresses_.end() &&
           !addresses->second.empty();
}

bool netlink_rib::has_only_linkdown(const netlink::message& m) const {
    const auto* const r = std::get_if<netlink::route>(&m.what);
    return r != nullptr && std::ranges::any_of(r->nexthops, [&](const netlink::nexthop& h) {
               return is_only_linkdown(m, h);
           });
}

void netlink_rib::set_ours(followed ours) {
    for (const auto& [number, vrf] : ours_.vrfs) {
        const auto still = ours.vrfs.find(number);
        if (still != ours.vrfs.end() && still->second == vrf) continue;
        tables_.erase(number);
        if (listed_ && listed_->part.what == dump_part::kind::routes && listed_->part.of == number)
            listed_.reset();
        learned_.vrf_routes.erase(vrf);
        changed_ = true;
    }
    for (const auto& [number, vrf] : ours.vrfs) tables_[number];
    for (const auto& [index, name] : ours_.interfaces) {
        const auto still = ours.interfaces.find(index);
        if (still != ours.interfaces.end() && still->second == name) continue;
        addresses_.erase(index);
        neighbours_.erase(index);
    }
    // Addresses of newly mirrored interfaces were stored as local routes.
    for (const auto& [index, name] : ours.interfaces)
        if (const auto here = addresses_.find(index);
            !ours_.interfaces.contains(index) && here != addresses_.end())
            add_locals_of(index, fib_table_of(index), -1);
    const followed before = std::exchange(ours_, std::move(ours));
    for (const auto& [index, name] : before.interfaces)
        if (!ours_.interfaces.contains(index)) store_networks_of(index);
    for (const auto& [index, name] : ours_.interfaces)
        if (!before.interfaces.contains(index)) store_networks_of(index);
    if (before.accept_ra != ours_.accept_ra) {
        for (auto& [index, all] : addresses_)
            if (before.accept_ra.contains(index) && !ours_.accept_ra.contains(index))
                std::erase_if(all, [](const auto& a) { return !a.second.permanent; });
        store_ipv6_networks();
    }
    for (auto& [number, t] : tables_)
        for (kernel_table::stack_id s = 0; s < t.kernel.stacks(); ++s)
            if (t.kernel.uses_of(s) != 0 && derive_stack(t, s)) t.stale.insert(s);
    for (const auto& [at, count] : locals_)
        if (tables_.contains(at.first)) show(at.first, at.second);
    settle();
    show_addresses();
    show_neighbours();
}

/// Derives a stack anew. Returns whether its route changed.
bool netlink_rib::derive_stack(table& t, kernel_table::stack_id s) {
    if (s >= t.derived.size()) t.derived.resize(t.kernel.stacks());
    derivation& of = t.derived[s];
    derived_route now = derive(t.kernel.stack(s), {next_hops_, ours_.interfaces, ours_.accept_ra});
    const bool changed = now.target != of.route.target || now.why != of.route.why;
    of.route = std::move(now);
    return changed;
}

/// Derives stacks that were changed in place. Empty ones are always stale: their prefixes are to be removed.
void netlink_rib::derive_changed(table& t) {
    for (const kernel_table::stack_id s : t.kernel.consume_changed())
        if (derive_stack(t, s) || t.kernel.stack(s).routes.empty()) t.stale.insert(s);
}

/// Shows the route of a prefix. The kernel looks into the local table first.
void netlink_rib::show(uint32_t number, const ip_prefix& to) {
    table& t = tables_.at(number);
    state::route_set& routes = learned_of(number);
    const auto before = routes.at(to);
    const kernel_table::stack_id s = t.kernel.at(to);
    if (locals_.contains({number, to}))
        routes.set(to, to_ourselves);
    else if (s == kernel_table::none || !t.derived[s].route.target)
        routes.remove(to);
    else
        routes.set(to, *t.derived[s].route.target, t.derived[s].index);
    changed_ |= before != routes.at(to);
}

/// Returns  whether a prefix has a stale stack
bool netlink_rib::begin_showing(table& t) {
    t.showing.assign(t.kernel.stacks(), false);
    for (const kernel_table::stack_id s : std::exchange(t.stale, {}))
        t.showing[s] = t.kernel.uses_of(s) != 0;
    t.next = {};
    if (std::ranges::find(t.showing, true) == t.showing.end()) t.showing.clear();
    return !t.showing.empty();
}

bool netlink_rib::show_stale(uint32_t number, table& t, const std::function<bool()>& may_go_on) {
    std::vector<ip_prefix> empty;
    while (!t.showing.empty() || (!t.stale.empty() && begin_showing(t))) {
        if (!may_go_on()) return false;
        empty.clear();
        auto at = t.kernel.lower_bound(t.next);
        for (size_t n = 0; n < prefixes_at_once && !at.at_end(); ++n, at.next()) {
            const state::route& r = *at;
            if (r.target >= t.showing.size() || !t.showing[r.target]) continue;
            show(number, r.to);
            if (t.kernel.stack(r.target).routes.empty()) empty.push_back(r.to);
        }
        if (at.at_end())
            t.showing.clear();
        else
            t.next = (*at).to;
        for (const ip_prefix& to : empty) t.kernel.set(to, {});
    }
    return true;
}

bool netlink_rib::settle(const std::function<bool()>& may_go_on) {
    if (are_addresses_stale_) show_addresses();
    return std::ranges::all_of(
        tables_, [&](auto& one) { return show_stale(one.first, one.second, may_go_on); });
}

void netlink_rib::settle() {
    settle([] { return true; });
}

netlink_rib::reason_counts netlink_rib::count_not_followed() const {
    reason_counts out{};
    for (const auto& [number, t] : tables_)
        for (kernel_table::stack_id s = 0; s < t.derived.size(); ++s)
            if (const not_followed why = t.derived[s].route.why; why != not_followed::none)
                out[static_cast<size_t>(why)] += t.kernel.uses_of(s);
    return out;
}

size_t netlink_rib::others() const {
    const reason_counts all = count_not_followed();
    return std::accumulate(all.begin(), all.end(), size_t{0});
}

std::vector<netlink_rib::not_followed_route> netlink_rib::list_not_followed(
    size_t most, uint32_t from_table, const ip_prefix& from) const {
    std::vector<not_followed_route> out;
    for (auto each = tables_.lower_bound(from_table); each != tables_.end(); ++each) {
        const auto& [number, t] = *each;
        const std::string vrf = number == RT_TABLE_MAIN ? "" : ours_.vrfs.at(number);
        for (auto at = t.kernel.lower_bound(number == from_table ? from : ip_prefix{});
             !at.at_end(); at.next()) {
            const derived_route& r = t.derived[(*at).target].route;
            if (r.why == not_followed::none) continue;
            if (out.size() == most) return out;
            out.push_back({number, vrf, (*at).to, r.why, r.target->protocol, r.target->metric});
        }
    }
    return out;
}

void netlink_rib::change_interface(const interface_change& c) {
    ++silent_changes_;
    change_listed([&](route_stack& s) { return apply_interface_change(s, c); });
    for (auto& [number, t] : tables_) {
        t.kernel.change_stacks([&](route_stack& s) { return apply_interface_change(s, c); },
                               [&](const route_stack& s) { return has_interface(s, c.interface); });
        derive_changed(t);
    }
}

/// Changes of an interface affect its routes and next-hop objects; the kernel notifies only of some IPv6 routes.
void netlink_rib::apply_link(const netlink::link& l) {
    using enum interface_change::kind;
    if (l.gone) {
        remove_next_hops_by(l.index);
        change_interface({l.index, removed});
        ipv4_addresses_.erase(l.index);
        remove_local_routes_of(l.index);
        if (addresses_.contains(l.index)) {
            if (name_of(l.index) == nullptr) add_locals_of(l.index, fib_table_of(l.index), -1);
            addresses_.erase(l.index);
            are_addresses_stale_ = true;
        }
        move_locals(l.index, [&] { links_.erase(l.index); });
        if (neighbours_.erase(l.index) != 0) show_neighbours();
        return;
    }
    link_state& now = links_.try_emplace(l.index, link_state{true, true, true}).first->second;
    const link_state was = now;
    const link_state is{l.up, l.up && l.carrier, l.up && l.carrier && l.running, l.master,
                        l.vrf_table};
    if (was.master != is.master || was.vrf_table != is.vrf_table)
        move_locals(l.index, [&] { now = is; });
    else
        now = is;
    if (was.up != is.up)
        change_interface({l.index, is.up ? up : down, is.carrier});
    else if (was.carrier != is.carrier)
        change_interface({l.index, is.carrier ? carrier_found : carrier_lost, is.carrier});
    if (!was.running && is.running) change_interface({l.index, ready});
    // nh_netdev_event()
    if (was.carrier && !is.carrier) remove_next_hops_by(l.index);
}

/// Ignores entries of daemons (extern_learn, e.g. EVPN) and proxy entries.
void netlink_rib::apply_neighbour(const netlink::neighbour& n) {
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

void netlink_rib::derive_routes_by(uint32_t next_hop) {
    for (auto& [number, t] : tables_)
        if (const auto* some = t.kernel.stacks_by(next_hop))
            for (const kernel_table::stack_id s : *some)
                if (derive_stack(t, s)) t.stale.insert(s);
}

/// A nexthop object may be replaced; without net.ipv4.nexthop_compat_mode, its routes are then not notified.
void netlink_rib::apply_next_hop(const netlink::next_hop& h) {
    if (h.gone) return remove_next_hop(h.id);
    netlink::next_hop& known = next_hops_[h.id];
    if (known == h) return;
    for (const auto& m : known.group) groups_of_[m.id].erase(h.id);
    known = h;
    for (const auto& m : h.group) groups_of_[m.id].insert(h.id);
    derive_routes_by(h.id);
    if (const auto groups = groups_of_.find(h.id); groups != groups_of_.end())
        for (const uint32_t group : groups->second) derive_routes_by(group);
}

/// remove_nexthop(): the routes of an object go with it, it leaves its groups, and groups go with their last member.
void netlink_rib::remove_next_hop(uint32_t id) {
    const auto at = next_hops_.find(id);
    if (at == next_hops_.end()) return;
    ++silent_changes_;
    for (const auto& m : at->second.group) groups_of_[m.id].erase(id);
    next_hops_.erase(at);
    const auto remove = [&](route_stack& s) {
        return std::erase_if(s.routes, [&](const kernel_route& r) { return r.next_hop == id; }) !=
               0;
    };
    for (auto& [number, t] : tables_) {
        t.kernel.change_stacks_by(id, remove);
        derive_changed(t);
    }
    change_listed(remove);
    const auto groups = groups_of_.extract(id);
    if (groups.empty()) return;
    for (const uint32_t group : groups.mapped()) {
        auto& members = next_hops_.at(group).group;
        std::erase_if(members, [&](const auto& m) { return m.id == id; });
        if (members.empty())
            remove_next_hop(group);
        else
            derive_routes_by(group);
    }
}

void netlink_rib::remove_next_hops_by(uint32_t interface) {
    std::vector<uint32_t> ids;
    for (const auto& [id, h] : next_hops_)
        if (h.group.empty() && !h.blackhole && h.path.interface == interface) ids.push_back(id);
    for (const uint32_t id : ids) remove_next_hop(id);
}

/// Redirects are exceptions for one host, not in the table.
bool netlink_rib::is_stored(const netlink::route& r) noexcept {
    return (r.flags & RTM_F_CLONED) == 0 && r.protocol != RTPROT_REDIRECT && is_routed(r.to);
}

void netlink_rib::apply_route(const netlink::route& r) {
    if (r.table == RT_TABLE_LOCAL) return apply_local_route(r);
    table* const t = table_of(r.table);
    if (t == nullptr || !is_stored(r)) return;
    const kernel_table::stack_id before = t->kernel.at(r.to);
    route_stack s = before == kernel_table::none
                        ? route_stack{.v6 = r.to.address.v6, .is_default = r.to.length == 0}
                        : t->kernel.stack(before);
    const bool may_stay = r.gone && listed_twice_.erase({r.table, r.to}) != 0;
    if (!apply_to_stack(s, r) || may_stay) doubtful_.insert(r.table);
    store(r.table, *t, r.to, s);
}

/// Whether the kernel's connected network of an interface needs no route: turnpike derives it from an address, or ignores
/// it as it ignores the address. A daemon adds one (NetworkManager) beside an address with IFA_F_NOPREFIXROUTE. The
/// networks of other interfaces are the kernel's; IPv6 ones may be a router advertisement's, without an address.
bool netlink_rib::is_from_address(const ip_prefix& to, uint32_t interface) const {
    const bool is_ours = name_of(interface) != nullptr;
    if (!is_ours && !to.address.v6) return false;
    if (to.address.v6 && ours_.accept_ra.contains(interface)) return true;
    const auto here = addresses_.find(interface);
    return here == addresses_.end() ||
           std::none_of(here->second.begin(), here->second.end(), [&](const auto& a) {
               return network_of(a.first) == to && !(is_ours && a.second.network);
           });
}

void netlink_rib::store_again(const ip_prefix& network) {
    for (auto& [number, t] : tables_)
        if (const kernel_table::stack_id s = t.kernel.at(network); s != kernel_table::none)
            store(number, t, network, t.kernel.stack(s));
}

/// The connected networks of IPv6.
void netlink_rib::store_ipv6_networks() {
    for (auto& [number, t] : tables_) {
        std::vector<ip_prefix> networks;
        for (auto at = t.kernel.lower_bound({{.v6 = true}, 0}); !at.at_end(); at.next())
            if (std::ranges::any_of(t.kernel.stack((*at).target).routes, is_connected))
                networks.push_back((*at).to);
        for (const ip_prefix& to : networks) store(number, t, to, t.kernel.stack(t.kernel.at(to)));
    }
}

void netlink_rib::store_networks_of(uint32_t interface) {
    if (const auto v4 = ipv4_addresses_.find(interface); v4 != ipv4_addresses_.end())
        for (const local_and_peer& a : v4->second) store_again(network_of(a));
    if (const auto all = addresses_.find(interface); all != addresses_.end())
        for (const auto& [a, is] : all->second) store_again(network_of(a));
}

void netlink_rib::store(uint32_t number, table& t, const ip_prefix& to, route_stack s) {
    for (kernel_route& r : s.routes)
        r.from_address = is_connected(r) && is_from_address(to, r.paths.front().interface);
    t.kernel.set(to, s);
    for (const kernel_table::stack_id changed : t.kernel.consume_changed())
        derive_stack(t, changed);
    show(number, to);
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
