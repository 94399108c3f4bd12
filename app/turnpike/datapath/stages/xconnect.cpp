// SPDX-License-Identifier: BSD-3-Clause
// Stage xconnect: forwards frames unchanged between the two interfaces of a cross-connect. Frames are parsed
// only where an ACL applies.

//   Reads   in, common_iface; interface.{peer, acl_in}, peer.{port, acl_out}
//   Writes  out
#include "datapath/graph.hpp"

namespace turnpike::datapath {

stage_mask run_xconnect(context& c, burst& b, packet_mask packets) noexcept {
    const auto& interfaces = c.snapshot->interfaces;
    const auto end_of = [&](const interface& in) {
        return egress{.port = interfaces[in.peer].port, .interface = in.peer};
    };
    const auto judged = [&](const interface& in) {
        return in.acl_in != nullptr || interfaces[in.peer].acl_out != nullptr;
    };
    if (b.common_iface != 0) [[likely]] {
        const interface& in = interfaces[b.common_iface];
        b.out.fill(end_of(in));
        return enqueue(b, packets, judged(in) ? stage::ip_input : stage::tx);
    }
    packet_mask look_into = 0;
    for_each(packets, [&](uint32_t i) {
        const interface& in = interfaces[b.in[i]];
        b.out[i] = end_of(in);
        look_into |= static_cast<packet_mask>(judged(in)) << i;
    });
    return enqueue(b, look_into, stage::ip_input) | enqueue(b, packets & ~look_into, stage::tx);
}

}  // namespace turnpike::datapath
