// SPDX-License-Identifier: BSD-3-Clause
// Unicast reverse path forwarding (RFC 3704): does the way back to a packet's source exist (loose), and is it
// the interface that the packet came in by (strict)? A default route is a way, as Linux and RFC 3704 section 2.3
// have it; of a route that several share each of its ways is one (section 2.3, feasible paths).
#pragma once

#include "datapath/hop_group.hpp"
#include "datapath/view.hpp"

namespace turnpike::datapath {

/// hop  of the source
[[nodiscard]] inline bool leads_back(const view& v, uint32_t hop, const interface& in) noexcept {
    const next_hop& by = v.hops[hop];
    const auto is_way = [&](hop_kind kind, const next_hop& h) {
        return kind >= hop_kind::glean && (!in.urpf_strict || h.out.interface == in.place);
    };
    const hop_kind kind = by.kind.load(std::memory_order_acquire);
    if (kind == hop_kind::group) {
        const hop_group& group = *by.group.load(std::memory_order_acquire);
        for (uint32_t m = 0; m < group.members; ++m) {
            const next_hop& h = v.hops[group.hop[m]];
            if (is_way(h.kind.load(std::memory_order_acquire), h)) return true;
        }
        return false;
    }
    return is_way(kind, by);
}

}  // namespace turnpike::datapath
