// SPDX-License-Identifier: BSD-3-Clause
// Unicast reverse path forwarding (RFC 3704). Loose mode: the source has a route. Strict mode: a next hop of
// that route leaves by the ingress interface. A default route counts, as in Linux and RFC 3704 section 2.3; every
// next hop of an ECMP route counts (section 2.3, feasible paths).
#pragma once

#include "datapath/nexthop_group.hpp"
#include "datapath/snapshot.hpp"

namespace turnpike::datapath {

/// hop     next hop of the source address
/// strict  by the ingress interface
[[nodiscard]] inline bool leads_back(const snapshot& v, uint32_t nexthop, const interface& in,
                                     bool strict) noexcept {
    const next_hop& by = v.nexthops[nexthop];
    const auto is_way = [&](nexthop_kind kind, const next_hop& h) {
        return kind >= nexthop_kind::failed && (!strict || h.out.interface == in.ifindex);
    };
    const nexthop_kind kind = by.kind.load(std::memory_order_acquire);
    if (kind == nexthop_kind::group) {
        const nexthop_group& group = *by.group.load(std::memory_order_acquire);
        for (uint32_t m = 0; m < group.members; ++m) {
            const next_hop& h = v.nexthops[group.nexthop[m]];
            if (is_way(h.kind.load(std::memory_order_acquire), h)) return true;
        }
        return false;
    }
    return is_way(kind, by);
}
[[nodiscard]] inline bool leads_back(const snapshot& v, uint32_t nexthop,
                                     const interface& in) noexcept {
    return leads_back(v, nexthop, in, in.urpf_strict);
}

}  // namespace turnpike::datapath
