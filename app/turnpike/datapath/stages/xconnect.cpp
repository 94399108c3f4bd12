// SPDX-License-Identifier: BSD-3-Clause
// Stage xconnect: forwards frames unchanged between the two interfaces of a cross-connect. Frames are parsed
// only where an ACL applies.
//   Reads   in, common_iface; interface.peer, peer.port
//   Writes  out
#include "datapath/graph.hpp"

namespace turnpike::datapath {

stage_mask run_xconnect(context& c, burst& b, packet_mask packets) noexcept {
    const auto& interfaces = c.snapshot->interfaces;
    const auto end_of = [&](const interface& in) {
        return egress{.port = interfaces[in.peer].port, .interface = in.peer};
    };
    if (b.common_iface != 0) [[likely]]
        b.out.fill(end_of(interfaces[b.common_iface]));
    else
        for_each(packets, [&](uint32_t i) { b.out[i] = end_of(interfaces[b.in[i]]); });
    return go_on_input(*c.snapshot, b, packets, stage::xconnect);
}

}  // namespace turnpike::datapath
