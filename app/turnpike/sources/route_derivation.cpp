// SPDX-License-Identifier: BSD-3-Clause
#include "sources/route_derivation.hpp"

#include <linux/rtnetlink.h>

#include <algorithm>

#include "state/next_hop_rules.hpp"

namespace turnpike::sources {
namespace {

using state::route_target;
using state::route_type;

derived_route unfollowed(const kernel_route& r, not_followed why) {
    return {
        route_target{.type = route_type::not_followed, .protocol = r.protocol, .metric = r.metric},
        why};
}

/// Whether the operator accepts router advertisements on the interfaces of all paths: any host on the link can send them.
bool accepts_ra(const kernel_route& r, const derivation_context& with) {
    return !r.paths.empty() && std::all_of(r.paths.begin(), r.paths.end(), [&](const auto& p) {
        return with.accept_ra.contains(p.interface);
    });
}

/// The kernel's routes that turnpike derives from addresses, except for prefixes that a router advertised.
bool is_ignored(const kernel_route& r, bool v6, const derivation_context& with) {
    if (r.protocol == RTPROT_RA) return !accepts_ra(r, with);
    switch (r.type) {
        case RTN_UNICAST:
            return r.from_address && !(v6 && accepts_ra(r, with));
        case RTN_LOCAL:
        case RTN_BROADCAST:
        case RTN_ANYCAST:
        case RTN_MULTICAST:
            return r.protocol == RTPROT_KERNEL;
        case RTN_BLACKHOLE:
        case RTN_UNREACHABLE:
        case RTN_PROHIBIT:
        case RTN_THROW:
            return false;
        default:
            return true;
    }
}

/// Types without next hops. A throw route ends the lookup in its table; no other one follows.
std::optional<route_type> type_without_paths(uint8_t type) noexcept {
    switch (type) {
        case RTN_BLACKHOLE:
            return route_type::blackhole;
        case RTN_PROHIBIT:
            return route_type::prohibit;
        case RTN_UNREACHABLE:
        case RTN_THROW:
            return route_type::unreachable;
        case RTN_LOCAL:
            return route_type::local;
        default:
            return std::nullopt;
    }
}

struct paths_of_route {
    std::vector<kernel_path> paths{};
    bool blackhole = false, fdb = false;
};

kernel_path path_of(const netlink::nexthop& h) {
    return {.interface = h.interface, .via = h.via, .encap = h.encap};
}

paths_of_route resolve(uint32_t id, const nexthop_objects& objects) {
    paths_of_route out;
    const auto at = objects.find(id);
    if (at == objects.end()) return out;
    const netlink::next_hop& h = at->second;
    out.blackhole = h.blackhole;
    out.fdb = h.fdb;
    if (h.blackhole || h.fdb) return out;
    if (h.group.empty()) out.paths.push_back(path_of(h.path));
    for (const auto& m : h.group) {
        const auto member = objects.find(m.id);
        if (member == objects.end()) continue;
        if (member->second.blackhole) {
            out.blackhole = true;  // the kernel allows no other members beside it
            continue;
        }
        out.fdb |= member->second.fdb;
        out.paths.push_back(path_of(member->second.path));
        out.paths.back().weight = m.weight;
    }
    return out;
}

bool is_alive(const kernel_route& r) noexcept {
    return r.next_hop != 0 || r.paths.empty() ||
           std::any_of(r.paths.begin(), r.paths.end(), [](const auto& p) { return !p.dead; });
}

/// The MTU by which the kernel forwards, locked or not (Linux 6.18). turnpike fragments no smaller than the minimum of
/// the family's links (RFC 791 section 3.2, RFC 8200 section 5), as the kernel with a locked one of IPv6.
uint16_t mtu_of(const kernel_route& r, bool v6) noexcept {
    if (r.mtu == 0 || r.mtu >= UINT16_MAX) return 0;
    return std::max(static_cast<uint16_t>(r.mtu), state::min_mtu(v6));
}

/// A route of type unicast that the kernel has selected.
derived_route target_by(const kernel_route& r, bool v6, const derivation_context& with) {
    route_target out{.protocol = r.protocol, .metric = r.metric};
    paths_of_route of =
        r.next_hop != 0 ? resolve(r.next_hop, with.objects) : paths_of_route{r.paths};
    if (of.blackhole) {
        out.type = route_type::blackhole;
        return {out};
    }
    if (of.fdb) return unfollowed(r, not_followed::fdb);
    std::erase_if(of.paths, [](const kernel_path& p) { return p.dead; });
    if (std::any_of(of.paths.begin(), of.paths.end(), [](const auto& p) { return p.encap != 0; }))
        return unfollowed(r, not_followed::encapsulation);
    std::vector<uint32_t> weights;
    bool any_of_ours = false;
    for (const kernel_path& p : of.paths) {
        const auto name = with.interfaces.find(p.interface);
        if (name == with.interfaces.end()) continue;
        any_of_ours = true;
        if (!p.via && of.paths.size() > 1) continue;
        const auto there = std::find_if(out.members.begin(), out.members.end(), [&](const auto& m) {
            return m.via == p.via && m.interface == name->second;
        });
        if (there != out.members.end()) {
            weights[static_cast<size_t>(there - out.members.begin())] += p.weight;
        } else if (out.members.size() < state::max_route_members) {
            out.members.push_back({p.via, name->second});
            weights.push_back(p.weight);
        }
    }
    if (!any_of_ours) return unfollowed(r, not_followed::interface);
    scale_weights(out.members, weights);
    if (!state::arrange_members(out.members)) return unfollowed(r, not_followed::paths);
    if (out.members.front().via) out.mtu = mtu_of(r, v6);
    return {out};
}

derived_route derive_from(const kernel_route& r, bool v6, const derivation_context& with) {
    if (const auto type = type_without_paths(r.type))
        return {route_target{.type = *type, .protocol = r.protocol, .metric = r.metric}};
    if (r.type != RTN_UNICAST) return unfollowed(r, not_followed::type);
    return target_by(r, v6, with);
}

/// The first route with a live next hop, by metric.
derived_route derive_v4(const route_stack& from, const derivation_context& with) {
    const kernel_route* by_tos = nullptr;
    for (const kernel_route& r : from.routes) {
        if (is_ignored(r, false, with) || !is_alive(r)) continue;
        if (r.tos == 0) return derive_from(r, false, with);
        by_tos = &r;
    }
    return by_tos == nullptr ? derived_route{} : unfollowed(*by_tos, not_followed::tos);
}

/// RFC 4191's order: high, medium, low.
unsigned rank_of(const kernel_route& r) noexcept { return (r.preference & 3U) ^ 2U; }

/// The most preferred live route of the lowest metric; or, if that has none, of all others. A nexthop object of type
/// blackhole counts without comparison (__find_rr_leaf).
const kernel_route* find_v6(const std::vector<const kernel_route*>& all,
                            const nexthop_objects& objects) {
    const kernel_route* best = nullptr;
    const auto choose = [&](bool first_metric) {
        for (const kernel_route* r : all) {
            if ((r->metric == all.front()->metric) != first_metric || !is_alive(*r)) continue;
            if (best == nullptr || rank_of(*r) > rank_of(*best)) best = r;
            if (r->next_hop != 0 && resolve(r->next_hop, objects).blackhole) {
                best = r;
                return;
            }
        }
    };
    choose(true);
    if (best == nullptr) choose(false);
    return best;
}

/// fib6_select_path(): the siblings of a route share its packets.
kernel_route with_siblings(const kernel_route& best, const std::vector<const kernel_route*>& all) {
    kernel_route out = best;
    if (!is_sibling(best)) return out;
    for (const kernel_route* r : all)
        if (r != &best && r->metric == best.metric && is_sibling(*r))
            out.paths.insert(out.paths.end(), r->paths.begin(), r->paths.end());
    return out;
}

/// Where a prefix has source-specific routes, the kernel does not look at its other routes, except for the default's
/// (fib6_node_lookup_1).
derived_route derive_v6(const route_stack& from, const derivation_context& with) {
    std::vector<const kernel_route*> plain;
    const kernel_route* by_source = nullptr;
    for (const kernel_route& r : from.routes)
        if (is_ignored(r, true, with))
            continue;
        else if (r.from.length == 0)
            plain.push_back(&r);
        else
            by_source = &r;
    if (by_source != nullptr && !from.is_default)
        return unfollowed(*by_source, not_followed::source_prefix);
    if (const kernel_route* best = plain.empty() ? nullptr : find_v6(plain, with.objects))
        return derive_from(with_siblings(*best, plain), true, with);
    return by_source == nullptr ? derived_route{}
                                : unfollowed(*by_source, not_followed::source_prefix);
}

}  // namespace

void scale_weights(std::vector<state::route_member>& members,
                   const std::vector<uint32_t>& weights) {
    uint64_t most = 0;
    for (const uint32_t w : weights) most = std::max<uint64_t>(most, w);
    for (size_t m = 0; m < members.size(); ++m) {
        uint64_t w = weights[m];
        if (most > state::max_member_weight)
            w = std::max<uint64_t>((w * state::max_member_weight + most / 2) / most, 1);
        members[m].weight = static_cast<uint16_t>(w);
    }
}

derived_route derive(const route_stack& from, const derivation_context& with) {
    return from.v6 ? derive_v6(from, with) : derive_v4(from, with);
}

}  // namespace turnpike::sources
