// SPDX-License-Identifier: BSD-3-Clause
// The addresses of the RIB, and the local routes beside them.
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <utility>

#include "sources/netlink_rib.hpp"

namespace turnpike::sources {
namespace {

bool is_followed(const ip_address& a) noexcept { return a.is_host() && !a.is_link_local(); }

ip_prefix host_of(const ip_address& a) { return {a, static_cast<uint8_t>(a.bits())}; }

}  // namespace

/// The network that the kernel connects with an address.
ip_prefix netlink_rib::network_of(const local_and_peer& a) {
    return ip_prefix{a.second.value_or(a.first.address), a.first.length}.network();
}

void netlink_rib::apply_address(const netlink::address& a) {
    apply_followed_address(a);
    if (a.local.address.v6) return;
    auto& here = ipv4_addresses_[a.interface];
    const std::pair key{a.local, a.remote};
    if (!a.gone) {
        const auto link = links_.find(a.interface);
        const link_state is = link == links_.end() ? link_state{true, true, true} : link->second;
        if (here.insert(key).second && is.up)
            change_interface({a.interface, interface_change::kind::first_ipv4_address, is.carrier});
        return;
    }
    if (here.erase(key) == 0) return;
    if (here.empty()) {
        change_interface({a.interface, interface_change::kind::last_ipv4_address});
        remove_local_routes_of(a.interface);
    }
    // fib_sync_down_addr(): routes with a source address that is no longer ours.
    const uint32_t number = fib_table_of(a.interface);
    for (const auto& [index, all] : ipv4_addresses_)
        for (const auto& [local, remote] : all)
            if (local.address == a.local.address && fib_table_of(index) == number) return;
    if (is_in_local_route(number, a)) return;
    const auto remove = [&](route_stack& s) {
        return std::erase_if(s.routes, [&](const kernel_route& r) {
                   return r.source == a.local.address;
               }) != 0;
    };
    if (table* const t = table_of(number)) {
        t->kernel.change_stacks(remove);
        derive_changed(*t);
    }
    if (listed_ && listed_->part.of == number) change_listed(remove);
}

/// An address without IFA_F_PERMANENT comes from a router advertisement or DHCP, which any host on the link can send; an
/// IPv6 one is followed where the operator accepts advertisements.
/// An address with IFA_F_NOPREFIXROUTE, or with a peer, has no connected network, but perhaps a route of the kernel's.
void netlink_rib::apply_followed_address(const netlink::address& a) {
    if (!is_followed(a.local.address)) return;
    const bool is_permanent = (a.flags & IFA_F_PERMANENT) != 0;
    const bool is_accepted =
        is_permanent || (a.local.address.v6 && ours_.accept_ra.contains(a.interface));
    const bool leaves = a.gone || !is_accepted;
    auto& here = addresses_[a.interface];
    const local_and_peer key{a.local, a.remote};
    bool changed = false, other = false;
    if (leaves) {
        changed = here.erase(key) != 0;
    } else {
        const stored_address is{.network = (a.flags & IFA_F_NOPREFIXROUTE) == 0 && !a.remote,
                                .permanent = is_permanent,
                                .no_dad = (a.flags & IFA_F_NODAD) != 0};
        const auto [at, is_new] = here.try_emplace(key, is);
        changed = is_new;
        other = std::exchange(at->second, is) != is;
    }
    if (!changed && !other) return;
    store_again(network_of(key));
    if (name_of(a.interface) != nullptr)
        are_addresses_stale_ = true;
    else if (changed)
        add_local(fib_table_of(a.interface), host_of(a.local.address), leaves ? -1 : 1);
}

/// inet_addr_type_dev_table() after fib_del_ifaddr() has removed the routes that the kernel added with an IPv4 address, the one to
/// itself, and a primary address's on a loopback to its network: whether another local route has it.
bool netlink_rib::is_in_local_route(uint32_t number, const netlink::address& a) const {
    const ip_address& at = a.local.address;
    const bool has_network = (a.flags & (IFA_F_SECONDARY | IFA_F_NOPREFIXROUTE)) == 0;
    const auto goes = [&](const ip_prefix& to, uint32_t interface, uint8_t protocol) {
        return interface == a.interface && protocol == RTPROT_KERNEL &&
               (to == host_of(at) || (has_network && to == network_of({a.local, a.remote})));
    };
    if (number == RT_TABLE_MAIN)
        return std::ranges::any_of(local_routes_, [&](const local_route& r) {
            return r.to.contains(at) && !goes(r.to, r.interface, r.protocol);
        });
    const auto t = tables_.find(number);
    if (t == tables_.end()) return false;
    for (unsigned length = at.bits() + 1; length-- != 0;) {  // the VRF's only table
        const ip_prefix to = ip_prefix{at, static_cast<uint8_t>(length)}.network();
        const kernel_table::stack_id s = t->second.kernel.at(to);
        if (s == kernel_table::none) continue;
        for (const kernel_route& r : t->second.kernel.stack(s).routes)
            if (r.type != RTN_LOCAL ||
                !goes(to, r.paths.empty() ? 0 : r.paths.front().interface, r.protocol))
                return r.type == RTN_LOCAL;
    }
    return false;
}

void netlink_rib::add_local(uint32_t number, const ip_prefix& to, int count) {
    const auto at = locals_.try_emplace({number, to}).first;
    at->second += count;
    if (at->second <= 0) locals_.erase(at);
    if (tables_.contains(number)) show(number, to);
}

void netlink_rib::add_locals_of(uint32_t interface, uint32_t number, int count) {
    const auto here = addresses_.find(interface);
    if (here == addresses_.end()) return;
    for (const auto& [a, is] : here->second) add_local(number, host_of(a.first.address), count);
}

/// A change of an interface, perhaps a VRF device, may give its addresses, and its slaves' addresses, to another table.
void netlink_rib::move_locals(uint32_t interface, const std::function<void()>& change) {
    std::map<uint32_t, uint32_t> before;
    for (const auto& [index, all] : addresses_) {
        if (name_of(index) != nullptr) continue;
        const auto link = links_.find(index);
        if (index == interface || (link != links_.end() && link->second.master == interface))
            before.emplace(index, fib_table_of(index));
    }
    change();
    for (const auto& [index, number] : before)
        if (const uint32_t now = fib_table_of(index); now != number) {
            add_locals_of(index, number, -1);
            add_locals_of(index, now, 1);
        }
}

void netlink_rib::show_addresses() {
    learned_.addresses.clear();
    learned_.no_dad.clear();
    for (const auto& [index, all] : addresses_)
        if (const std::string* name = name_of(index); name != nullptr && !all.empty()) {
            std::set<ip_prefix> known;
            for (const auto& [a, is] : all) {
                const ip_prefix shown = is.network ? a.first : host_of(a.first.address);
                if (known.insert(shown).second) learned_.addresses[*name].push_back(shown);
                if (is.no_dad && shown.address.v6)
                    learned_.no_dad.insert({.interface = *name, .address = shown.address});
            }
        }
    are_addresses_stale_ = false;
    changed_ = true;
}

/// The kernel delivers packets to IPv6 anycast destinations, too.
bool netlink_rib::is_local(const netlink::route& r) noexcept {
    return r.type == RTN_LOCAL || (r.type == RTN_ANYCAST && r.to.address.v6);
}

netlink_rib::local_route netlink_rib::local_route_of(const netlink::route& r) {
    return {r.to, r.metric, r.nexthops.empty() ? 0 : r.nexthops.front().interface, r.tos,
            r.protocol};
}

/// The kernel's own local routes follow from addresses, except for the networks of IPv4 addresses on loopbacks.
void netlink_rib::apply_local_route(const netlink::route& r) {
    const bool is_of_address =
        r.protocol == RTPROT_KERNEL && (r.to.address.v6 || r.to.length == r.to.address.bits());
    if (!is_local(r) || is_of_address || !is_followed(r.to.address)) return;
    const local_route key = local_route_of(r);
    if (r.gone) {
        if (local_routes_.erase(key) != 0) add_local(RT_TABLE_MAIN, r.to, -1);
        return;
    }
    if ((r.how & NLM_F_REPLACE) != 0)
        remove_local_routes([&](const local_route& l) {
            return l.to == key.to && l.metric == key.metric && l.tos == key.tos;
        });
    if (local_routes_.insert(key).second) add_local(RT_TABLE_MAIN, r.to, 1);
}

void netlink_rib::remove_local_routes(const std::function<bool(const local_route&)>& goes) {
    for (auto at = local_routes_.begin(); at != local_routes_.end();) {
        const ip_prefix to = at->to;
        const bool gone = goes(*at);
        at = gone ? local_routes_.erase(at) : std::next(at);
        if (gone) add_local(RT_TABLE_MAIN, to, -1);
    }
}

/// fib_flush(): IPv4 routes of an interface that goes, or loses its last address; the kernel notifies of IPv6 ones.
void netlink_rib::remove_local_routes_of(uint32_t interface) {
    remove_local_routes(
        [&](const local_route& l) { return l.interface == interface && !l.to.address.v6; });
}

}  // namespace turnpike::sources
