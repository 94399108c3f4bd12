// SPDX-License-Identifier: BSD-3-Clause
// Stage lookup: looks up the next hop of each destination, one bulk lookup per VRF and family.
//   Reads   packet, in, parsed; interface.vrf, snapshot.vrf
//   Writes  hop
#include "datapath/stages/look_up.hpp"

namespace turnpike::datapath {

stage_mask run_lookup(context& c, burst& b, packet_mask packets) noexcept {
    look_up(
        *c.snapshot, b, packets,
        [&](uint32_t i, bool& v4) noexcept {
            return address_at(b, i, b.parsed[i].destination_offset(), v4);
        },
        [&](uint32_t i, uint32_t nexthop) noexcept { b.nexthop[i] = nexthop; });
    return enqueue(b, packets, stage::ip_forward);
}

}  // namespace turnpike::datapath
