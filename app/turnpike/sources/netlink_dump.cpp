// SPDX-License-Identifier: BSD-3-Clause
// The marks of a dump in the RIB, and its sweep.
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <algorithm>

#include "sources/netlink_rib.hpp"

namespace turnpike::sources {
namespace {

using part_kind = netlink_rib::dump_part::kind;

/// The kernel's dump lists a multipath IPv6 route as one, with the attributes of its first path, and skips the routes
/// between its paths (fib6_dump_node, rt6_fill_node).
route_stack as_dumped(const route_stack& all) {
    route_stack out{.v6 = all.v6, .is_default = all.is_default};
    const auto are_siblings = [](const kernel_route& a, const kernel_route& b) {
        return is_sibling(a) && is_sibling(b) && a.from == b.from && a.metric == b.metric;
    };
    for (size_t n = 0; n < all.routes.size(); ++n) {
        const size_t first = n;
        out.routes.push_back(all.routes[first]);
        for (size_t m = first + 1; m < all.routes.size(); ++m) {
            if (!are_siblings(all.routes[first], all.routes[m])) continue;
            out.routes.push_back(all.routes[first]);
            out.routes.back().paths = all.routes[m].paths;
            n = m;
        }
    }
    return out;
}

template <class Content>
bool is_absent(const Content& one) {
    if constexpr (requires { one.gone; }) return one.gone;
    return false;
}

/// Other neighbour entries than permanent ones are ignored.
bool is_absent(const netlink::neighbour& n) { return n.gone || (n.state & NUD_PERMANENT) == 0; }

}  // namespace

void netlink_rib::begin_part(const dump_part& p) {
    if (listed_ && listed_->part == p && !listed_->is_complete) {
        listed_->last.reset();
        listed_->skipped.clear();
        if (std::exchange(listed_->in_reply, false)) listed_->notified.clear();
        return;
    }
    listed_ = listed();
    listed_->part = p;
    listed_->next = {{.v6 = p.v6}, 0};
    if (p.what != part_kind::routes) return;
    std::erase_if(listed_twice_,
                  [&](const auto& of) { return of.first == p.of && of.second.address.v6 == p.v6; });
    if (const table* const t = table_of(p.of)) {
        const auto first = t->kernel.lower_bound(listed_->next);
        listed_->direct = first.at_end() || (*first).to.address.v6 != p.v6;
    }
}

bool netlink_rib::end_part(bool complete) {
    if (!listed_) return true;
    if (!complete) {
        listed_.reset();
        return true;
    }
    if (std::exchange(listed_->may_lack, false) && ++listed_->replies < max_replies) return false;
    listed_->is_complete = true;
    find_gone();
    return true;
}

/// The object of a message; none: it is not of the part.
std::optional<netlink_rib::object> netlink_rib::object_of(const netlink::message& m) const {
    const dump_part& part = listed_->part;
    switch (part.what) {
        case part_kind::links:
            if (const auto* l = std::get_if<netlink::link>(&m.what))
                return object{l->index, {}, {}};
            break;
        case part_kind::next_hops:
            if (const auto* h = std::get_if<netlink::next_hop>(&m.what))
                return object{h->id, {}, {}};
            break;
        case part_kind::addresses:
            if (const auto* a = std::get_if<netlink::address>(&m.what))
                return object{a->interface, a->local, a->remote};
            break;
        case part_kind::neighbours:
            if (const auto* n = std::get_if<netlink::neighbour>(&m.what))
                return object{n->interface, {n->at, 0}, {}};
            break;
        case part_kind::routes:
            if (const auto* r = std::get_if<netlink::route>(&m.what);
                r != nullptr && r->table == part.of && r->to.address.v6 == part.v6)
                return object{r->table, r->to, {}};
            break;
    }
    return std::nullopt;
}

/// Marks an object. Routes of a reply are compared by the sweep. The kernel makes a part of a reply without locks (Linux
/// 6.9): the part may be queued behind the notification of a later change, so of such objects the notification counts.
bool netlink_rib::mark(const netlink::message& m) {
    const auto of = object_of(m);
    if (!of) return false;
    listed& l = *listed_;
    const auto* const r = std::get_if<netlink::route>(&m.what);
    if (m.listed) {
        l.in_reply = true;
        if (l.notified.contains(*of)) {
            if (r != nullptr) {
                l.may_lack = true;  // other routes of the prefix
                l.skipped.insert(r->to);
            }
            return true;
        }
    } else {
        if (std::exchange(l.in_reply, false)) l.notified.clear();
        l.notified.insert(*of);
    }
    if (r != nullptr) return mark_route(*r);
    if (std::visit([](const auto& one) { return is_absent(one); }, m.what))
        l.objects.erase(*of);
    else
        l.objects.insert(*of);
    return false;
}

/// IPv6 can have two equal routes (fib6_add_rt2node: a route that replaces another is not compared with later ones), and a
/// dump can list one route twice (fib6_dump_table starts again when the tree changes). When one of the two is deleted, only
/// another dump tells whether one is left.
void netlink_rib::note_listed_twice(const netlink::route& r) {
    listed& l = *listed_;
    if ((r.how & NLM_F_MULTI) == 0 || !l.part.v6) return;
    if (!is_stored(r)) return;
    if (std::exchange(l.last, r.to) != r.to)
        l.of_last = {.v6 = true, .is_default = r.to.length == 0};
    else if (has_equal(l.of_last, r))
        listed_twice_.emplace(r.table, r.to);
    static_cast<void>(apply_to_stack(l.of_last, r));
}

/// fib6_dump_table() starts again when a route was added, and skips as many prefixes as it has listed. In the place of a
/// listed prefix that has gone since, it skips another one.
bool netlink_rib::mark_route(const netlink::route& r) {
    listed& l = *listed_;
    l.may_lack |= r.gone && l.part.v6;
    if (r.table == RT_TABLE_LOCAL) {
        if (r.gone)
            l.local_routes.erase(local_route_of(r));
        else if (is_local(r))
            l.local_routes.insert(local_route_of(r));
        return false;
    }
    note_listed_twice(r);
    if (l.direct) return false;
    if (!is_stored(r)) return true;
    const kernel_table::stack_id before = l.routes.at(r.to);
    route_stack s = before == kernel_table::none
                        ? route_stack{.v6 = r.to.address.v6, .is_default = r.to.length == 0}
                        : l.routes.stack(before);
    if (!apply_to_stack(s, r)) doubtful_.insert(r.table);
    l.routes.set(r.to, s);
    static_cast<void>(l.routes.consume_changed());
    return (r.how & NLM_F_MULTI) != 0;
}

/// Changes without notifications also concern the routes that the dump has listed so far.
void netlink_rib::change_listed(const std::function<bool(route_stack&)>& with) {
    if (!listed_ || listed_->part.what != part_kind::routes) return;
    listed_->may_lack |= listed_->part.v6;
    listed_->routes.change_stacks(with);
    static_cast<void>(listed_->routes.consume_changed());
}

/// Objects of the part that the dump has not listed.
void netlink_rib::find_gone() {
    listed& l = *listed_;
    const auto add = [&](netlink::content what) { l.gone.push_back({.what = std::move(what)}); };
    const auto is_asked = [&](uint32_t interface) {
        return l.part.of == 0 || l.part.of == interface;
    };
    switch (l.part.what) {
        case part_kind::links:
            for (const auto& [index, is] : links_)
                if (!l.objects.contains({index, {}, {}}))
                    add(netlink::link{.gone = true, .index = index});
            break;
        case part_kind::next_hops:
            for (const auto& [id, h] : next_hops_)
                if (!l.objects.contains({id, {}, {}}))
                    add(netlink::next_hop{.gone = true, .id = id});
            break;
        case part_kind::addresses: {
            const auto compare = [&](uint32_t index, const ip_prefix& local,
                                     const std::optional<ip_address>& remote) {
                if (is_asked(index) && !l.objects.contains({index, local, remote}))
                    add(netlink::address{
                        .gone = true, .interface = index, .local = local, .remote = remote});
            };
            for (const auto& [index, all] : ipv4_addresses_)
                for (const auto& [local, remote] : all) compare(index, local, remote);
            for (const auto& [index, all] : addresses_)
                for (const auto& [a, is] : all) compare(index, a.first, a.second);
            break;
        }
        case part_kind::neighbours:
            for (const auto& [index, all] : neighbours_)
                for (const auto& [at, mac] : all)
                    if (is_asked(index) && at.v6 == l.part.v6 &&
                        !l.objects.contains({index, {at, 0}, {}}))
                        add(netlink::neighbour{.gone = true, .interface = index, .at = at});
            break;
        case part_kind::routes:
            if (l.part.of != RT_TABLE_LOCAL) break;
            for (const local_route& r : local_routes_)
                if (r.to.address.v6 == l.part.v6 && !l.local_routes.contains(r))
                    add(netlink::route{.gone = true,
                                       .to = r.to,
                                       .table = RT_TABLE_LOCAL,
                                       .protocol = r.protocol,
                                       .type = RTN_LOCAL,
                                       .tos = r.tos,
                                       .metric = r.metric,
                                       .nexthops = {{.interface = r.interface}}});
            break;
    }
}

bool netlink_rib::sweep(const std::function<bool()>& may_go_on) {
    if (!listed_ || !listed_->is_complete) return true;
    while (!listed_->gone.empty()) {
        if (!may_go_on()) return false;
        const netlink::message m = std::move(listed_->gone.back());
        listed_->gone.pop_back();
        apply(m);
    }
    const bool compares = listed_->part.what == part_kind::routes && !listed_->direct;
    if (compares && !sweep_routes(may_go_on)) return false;
    listed_.reset();
    return true;
}

/// Compares the routes of the RIB with the dump's, in the order of prefixes.
bool netlink_rib::sweep_routes(const std::function<bool()>& may_go_on) {
    listed& l = *listed_;
    table* const t = table_of(l.part.of);
    if (t == nullptr) return true;
    std::vector<ip_prefix> differ;
    for (bool ended = false; !ended;) {
        if (!may_go_on()) return false;
        auto have = t->kernel.lower_bound(l.next), has = l.routes.lower_bound(l.next);
        const auto is_end = [&](const auto& at) {
            return at.at_end() || (*at).to.address.v6 != l.part.v6;
        };
        differ.clear();
        std::map<std::pair<kernel_table::stack_id, kernel_table::stack_id>, bool> same;
        for (size_t n = 0;; ++n) {
            ended = is_end(have) && is_end(has);
            if (ended) break;
            const bool ours = !is_end(have) && (is_end(has) || !((*has).to < (*have).to)),
                       theirs = !is_end(has) && (is_end(have) || !((*have).to < (*has).to));
            l.next = ours ? (*have).to : (*has).to;
            if (n == prefixes_at_once) break;
            if (ours && theirs) {
                const auto [at, is_new] = same.try_emplace({(*have).target, (*has).target});
                if (is_new) {
                    const route_stack &a = t->kernel.stack((*have).target),
                                      &b = l.routes.stack((*has).target);
                    at->second = a == b || (a.v6 && as_dumped(a) == b);
                }
                if (!at->second) differ.push_back(l.next);
            } else {
                differ.push_back(l.next);
            }
            if (ours) have.next();
            if (theirs) has.next();
        }
        for (const ip_prefix& to : differ) {
            if (l.skipped.contains(to)) continue;  // known by notifications only
            const kernel_table::stack_id s = l.routes.at(to);
            store(l.part.of, *t, to, s == kernel_table::none ? route_stack{} : l.routes.stack(s));
        }
    }
    return true;
}

}  // namespace turnpike::sources
