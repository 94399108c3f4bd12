// SPDX-License-Identifier: BSD-3-Clause
#include "sources/kernel_routes.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace turnpike::sources {
namespace {

using route_list = std::vector<kernel_route>;
using route_position = route_list::iterator;

auto key_of(const kernel_route& r) { return std::tie(r.from, r.tos, r.metric); }

/// The routes with equal source prefix, TOS and metric.
std::pair<route_position, route_position> range_of(route_list& in, const kernel_route& r) {
    return std::equal_range(in.begin(), in.end(), r,
                            [](const auto& a, const auto& b) { return key_of(a) < key_of(b); });
}

kernel_route route_of(const netlink::route& r) {
    kernel_route out{.from = r.from.length == 0 ? ip_prefix{} : r.from,
                     .tos = r.tos,
                     .metric = r.metric,
                     .type = r.type,
                     .protocol = r.protocol,
                     .scope = r.scope,
                     .preference = r.preference,
                     .next_hop = r.next_hop,
                     .source = r.source,
                     .mtu = r.mtu,
                     .mtu_locked = r.mtu_locked,
                     .expires = r.expires,
                     .metrics = r.metrics};
    // The paths of a nexthop object are the object's.
    if (r.next_hop != 0) {
        if (r.type == RTN_BLACKHOLE) out.type = RTN_UNICAST;
        return out;
    }
    for (const netlink::nexthop& h : r.nexthops)
        out.paths.push_back({.interface = h.interface,
                             .via = h.via,
                             .weight = h.weight,
                             .onlink = (h.flags & RTNH_F_ONLINK) != 0,
                             .dead = (h.flags & RTNH_F_DEAD) != 0,
                             .linkdown = (h.flags & RTNH_F_LINKDOWN) != 0,
                             .encap = h.encap});
    return out;
}

/// Without the flags that change by themselves.
kernel_route without_state(kernel_route r) {
    r.expires = r.from_address = false;
    for (kernel_path& p : r.paths) p.dead = p.linkdown = false;
    return r;
}

bool are_same(const kernel_route& a, const kernel_route& b) {
    return without_state(a) == without_state(b);
}

bool is_same_path(const kernel_path& a, const kernel_path& b) noexcept {
    return a.interface == b.interface && a.via == b.via && a.encap == b.encap;
}

/// IPv6 routes are the same if their next hops are (rt6_duplicate_nexthop).
bool are_same_v6(const kernel_route& a, const kernel_route& b) {
    return a.next_hop == b.next_hop &&
           std::equal(a.paths.begin(), a.paths.end(), b.paths.begin(), b.paths.end(), is_same_path);
}

void add_v4(route_list& in, const kernel_route& r, uint16_t how) {
    auto [first, last] = range_of(in, r);
    const route_position same =
        std::find_if(first, last, [&](const kernel_route& a) { return are_same(a, r); });
    if ((how & NLM_F_MULTI) != 0) {  // a dump: behind earlier routes of its order
        if (same == last) {
            in.insert(last, r);
        } else {
            *same = r;
            std::rotate(same, same + 1, last);
        }
    } else if ((how & NLM_F_EXCL) != 0) {  // there was none before
        in.insert(in.erase(first, last), r);
    } else if (same != last) {
        *same = r;  // also a nexthop object that was replaced
    } else if ((how & NLM_F_REPLACE) != 0 && first != last) {
        *first = r;
    } else {
        in.insert((how & NLM_F_APPEND) != 0 ? last : first, r);
    }
}

/// The paths of an IPv6 message, as separate routes, as in the kernel.
route_list singles_of(const kernel_route& r) {
    if (r.paths.size() < 2) return {r};
    route_list out;
    for (const kernel_path& p : r.paths) {
        out.push_back(r);
        out.back().paths = {p};
    }
    return out;
}

bool has_same_v6(const route_list& in, const kernel_route& r) {
    return std::any_of(in.begin(), in.end(), [&](const auto& a) { return are_same_v6(a, r); });
}

/// Replaces a route in place; with a sibling, the other siblings go, too.
void replace_v6(route_list& range, size_t at, const route_list& by) {
    const bool was_sibling = is_sibling(range[at]);
    range[at] = by.front();
    for (size_t n = range.size(); was_sibling && n-- != 0;)
        if (n != at && is_sibling(range[n]))
            range.erase(range.begin() + static_cast<std::ptrdiff_t>(n));
    range.insert(range.end(), by.begin() + 1, by.end());
}

size_t index_of(const route_list& range, const std::function<bool(const kernel_route&)>& which) {
    return static_cast<size_t>(std::find_if(range.begin(), range.end(), which) - range.begin());
}

size_t index_of_equal(const route_list& range, const kernel_route& r) {
    return index_of(range, [&](const kernel_route& a) { return are_same(a, r); });
}

/// A replacement may be the same as a later route, so an equal one is preferred.
size_t index_of_same_v6(const route_list& range, const kernel_route& r) {
    const size_t equal = index_of_equal(range, r);
    if (equal != range.size()) return equal;
    return index_of(range, [&](const kernel_route& a) { return are_same_v6(a, r); });
}

/// The message of a multipath route has all its paths, including present ones.
bool add_siblings(route_list& range, const route_list& all, uint16_t how) {
    const size_t old = index_of(range, is_sibling);
    const bool replaces = (how & NLM_F_REPLACE) != 0;
    if (old == range.size()) {
        if (replaces && !range.empty()) {
            replace_v6(range, 0, all);
            return true;
        }
        // One that replaces is notified without NLM_F_REPLACE: it may have replaced a route without gateway.
        const bool certain =
            (how & (NLM_F_MULTI | NLM_F_APPEND)) != 0 || range.empty() || all.size() < 2;
        range.insert(range.end(), all.begin(), all.end());
        return certain;
    }
    const bool stay = std::all_of(range.begin(), range.end(), [&](const kernel_route& r) {
        return !is_sibling(r) || has_same_v6(all, r);
    });
    if (replaces || !stay) {
        replace_v6(range, old, all);
        return true;
    }
    for (const kernel_route& r : all)
        if (!has_same_v6(range, r)) range.push_back(r);
    return true;
}

bool add_v6(route_list& in, const kernel_route& r, uint16_t how) {
    const auto [first, last] = range_of(in, r);
    route_list range(first, last);
    const route_list all = singles_of(r);
    bool certain = true;
    if ((how & NLM_F_EXCL) != 0) {
        range = all;
    } else if (is_sibling(all.front())) {
        certain = add_siblings(range, all, how);
    } else {
        // A dump lists both routes where a replacement has the next hop of a later one.
        const bool is_listed = (how & NLM_F_MULTI) != 0;
        const size_t at = is_listed ? index_of_equal(range, r) : index_of_same_v6(range, r);
        const bool same = at != range.size();
        if ((how & NLM_F_REPLACE) != 0 && !range.empty()) {  // also if a later one is the same
            const size_t first_plain =
                index_of(range, [](const kernel_route& a) { return !is_sibling(a); });
            replace_v6(range, first_plain == range.size() ? 0 : first_plain, all);
        } else if (same && is_listed) {  // in order
            range.erase(range.begin() + static_cast<std::ptrdiff_t>(at));
            range.push_back(r);
        } else if (same) {
            range[at] = r;
        } else {
            range.push_back(r);
        }
    }
    in.insert(in.erase(first, last), range.begin(), range.end());
    return certain;
}

void remove_v4(route_list& in, const kernel_route& r) {
    const auto [first, last] = range_of(in, r);
    const route_position same =
        std::find_if(first, last, [&](const kernel_route& a) { return are_same(a, r); });
    if (same != last) in.erase(same);
}

/// Single paths of a multipath route may go. One of several equal routes is removed.
void remove_v6(route_list& in, const kernel_route& r) {
    const auto [first, last] = range_of(in, r);
    route_list range(first, last);
    for (const kernel_route& one : singles_of(r))
        if (const size_t at = index_of_same_v6(range, one); at != range.size())
            range.erase(range.begin() + static_cast<std::ptrdiff_t>(at));
    in.insert(in.erase(first, last), range.begin(), range.end());
}

bool set_flag(bool& flag, bool to) noexcept { return std::exchange(flag, to) != to; }

/// A path without a usable link. Answers  whether that is new
bool set_dead(kernel_path& p) noexcept {
    const bool died = set_flag(p.dead, true);
    return set_flag(p.linkdown, true) || died;
}

/// fib_sync_down_dev(): a route goes with its last live path; with an interface that is removed, any path takes it along.
bool remove_paths_v4(route_list& in, const interface_change& c) {
    using enum interface_change::kind;
    bool changed = false;
    const auto ends = [&](kernel_route& r) {
        // Local routes go with their addresses.
        if (c.what == down && r.scope == RT_SCOPE_HOST) return false;
        bool any = false;
        for (kernel_path& p : r.paths)
            if (p.interface == c.interface) {
                any = true;
                changed |= set_dead(p);
            }
        return any && (c.what == removed || std::all_of(r.paths.begin(), r.paths.end(),
                                                        [](const auto& p) { return p.dead; }));
    };
    return std::erase_if(in, ends) != 0 || changed;
}

/// fib6_ifdown(): the paths of a removed interface go one by one; those of one that is down are dead until all are.
bool remove_paths_v6(route_list& in, const interface_change& c) {
    const auto by = [&](const kernel_route& r) {
        return !r.paths.empty() && r.paths.front().interface == c.interface;
    };
    if (std::none_of(in.begin(), in.end(), by)) return false;
    if (c.what == interface_change::kind::removed) return std::erase_if(in, by) != 0;
    bool changed = false;
    for (kernel_route& r : in)
        if (by(r) && is_sibling(r)) changed |= set_dead(r.paths.front());
    const route_list all = in;
    const auto lives = [&](const kernel_route& r) {
        return std::any_of(all.begin(), all.end(), [&](const kernel_route& a) {
            return key_of(a) == key_of(r) && is_sibling(a) && !a.paths.front().dead;
        });
    };
    const auto ends = [&](const kernel_route& r) { return is_sibling(r) ? !lives(r) : by(r); };
    return std::erase_if(in, ends) != 0 || changed;
}

/// Changes without an effect on whole routes.
bool change_path(kernel_path& p, const kernel_route& of, bool v6, const interface_change& c) {
    using enum interface_change::kind;
    bool changed = false;
    if (v6 ? c.what == ready : c.what == up || c.what == first_ipv4_address) {
        changed = set_flag(p.dead, false);
        if (v6 || c.carrier) changed |= set_flag(p.linkdown, false);
    }
    if (c.what == carrier_found && !v6) changed |= set_flag(p.linkdown, false);
    if (c.what == carrier_lost && of.scope != RT_SCOPE_HOST) changed |= set_flag(p.linkdown, true);
    return changed;
}

}  // namespace

/// rt6_qualify_for_ecmp()
bool is_sibling(const kernel_route& r) noexcept {
    return r.next_hop == 0 && r.protocol != RTPROT_RA && !r.paths.empty() && r.paths.front().via;
}

bool is_connected(const kernel_route& r) noexcept {
    return r.type == RTN_UNICAST && r.protocol == RTPROT_KERNEL && r.next_hop == 0 &&
           r.paths.size() == 1 && !r.paths.front().via;
}

bool apply_to_stack(route_stack& to, const netlink::route& r) {
    const kernel_route one = route_of(r);
    if (r.gone) {
        to.v6 ? remove_v6(to.routes, one) : remove_v4(to.routes, one);
        return true;
    }
    if (to.v6) return add_v6(to.routes, one, r.how);
    add_v4(to.routes, one, r.how);
    return true;
}

bool has_equal(const route_stack& in, const netlink::route& r) {
    const kernel_route one = route_of(r);
    return std::any_of(in.routes.begin(), in.routes.end(),
                       [&](const kernel_route& a) { return are_same(a, one); });
}

bool has_interface(const route_stack& s, uint32_t interface) noexcept {
    return std::ranges::any_of(s.routes, [&](const kernel_route& r) {
        return std::ranges::any_of(r.paths,
                                   [&](const kernel_path& p) { return p.interface == interface; });
    });
}

bool apply_interface_change(route_stack& to, const interface_change& c) {
    using enum interface_change::kind;
    const bool v4_only = c.what == last_ipv4_address || c.what == first_ipv4_address;
    if (v4_only && to.v6) return false;
    if (c.what == removed || c.what == down || c.what == last_ipv4_address)
        return to.v6 ? remove_paths_v6(to.routes, c) : remove_paths_v4(to.routes, c);
    bool changed = false;
    for (kernel_route& r : to.routes)
        for (kernel_path& p : r.paths)
            if (p.interface == c.interface) changed |= change_path(p, r, to.v6, c);
    return changed;
}

kernel_table::stack_id kernel_table::at(const ip_prefix& to) const noexcept {
    return prefixes_.target_of(to);
}

void kernel_table::index_next_hops(stack_id s, bool add) {
    for (const kernel_route& r : stacks_[s].now.routes) {
        if (r.next_hop == 0) continue;
        if (add) {
            by_next_hop_[r.next_hop].insert(s);
        } else if (const auto of = by_next_hop_.find(r.next_hop); of != by_next_hop_.end()) {
            of->second.erase(s);
            if (of->second.empty()) by_next_hop_.erase(of);
        }
    }
}

kernel_table::stack_id kernel_table::intern(const route_stack& s) {
    if (const auto there = ids_.find(s); there != ids_.end()) return there->second;
    stack_id id = stacks();
    if (unused_.empty()) {
        stacks_.push_back({.now = s});
    } else {
        id = unused_.back();
        unused_.pop_back();
        stacks_[id] = {.now = s};
    }
    ids_.emplace(s, id);
    index_next_hops(id, true);
    changed_.push_back(id);
    return id;
}

void kernel_table::release(stack_id s) {
    if (--stacks_[s].uses != 0) return;
    if (const auto there = ids_.find(stacks_[s].now); there != ids_.end() && there->second == s)
        ids_.erase(there);
    index_next_hops(s, false);
    stacks_[s] = {};
    unused_.push_back(s);
}

void kernel_table::set(const ip_prefix& to, const route_stack& s) {
    const stack_id before = at(to);
    stack_id after = none;
    if (!s.routes.empty()) {
        if (before != none && stacks_[before].now == s) return;
        after = intern(s);
        ++stacks_[after].uses;
    }
    prefixes_.exchange(to, after);
    if (before != none) release(before);
}

bool kernel_table::change(stack_id s, const std::function<bool(route_stack&)>& with) {
    if (stacks_[s].uses == 0) return false;
    route_stack after = stacks_[s].now;
    if (!with(after)) return false;
    if (const auto there = ids_.find(stacks_[s].now); there != ids_.end() && there->second == s)
        ids_.erase(there);
    index_next_hops(s, false);
    stacks_[s].now = std::move(after);
    ids_.emplace(stacks_[s].now, s);  // an equal one that exists remains the one that is found
    index_next_hops(s, true);
    changed_.push_back(s);
    return true;
}

void kernel_table::change_stacks(const std::function<bool(route_stack&)>& with,
                                 const std::function<bool(const route_stack&)>& concerns) {
    for (stack_id s = 0; s < stacks(); ++s)
        if (concerns(stacks_[s].now)) change(s, with);
}

const std::set<kernel_table::stack_id>* kernel_table::stacks_by(uint32_t next_hop) const {
    const auto at = by_next_hop_.find(next_hop);
    return at == by_next_hop_.end() ? nullptr : &at->second;
}

void kernel_table::change_stacks_by(uint32_t next_hop,
                                    const std::function<bool(route_stack&)>& with) {
    const auto* const some = stacks_by(next_hop);
    if (some == nullptr) return;
    for (const stack_id s : std::set<stack_id>(*some)) change(s, with);
}

}  // namespace turnpike::sources
