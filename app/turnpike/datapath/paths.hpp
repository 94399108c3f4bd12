// SPDX-License-Identifier: BSD-3-Clause
// Paths: the stages that the packets of an interface go through, as masks. A packet's next stage is the lowest one of
// its path above the current stage, so a stage does not know the stages behind it.
//
//   input   from stage iface_input on, by the ingress interface:
//             all      [count_in], then
//             routed   [vxlan_fast] [ip_fast] ip_input [urpf] [acl_in] lookup
//             bridged  [acl_l2] [ip_input] [acl_in] bridge
//             patched  xconnect [ip_input] [acl_in], then the output path of its peer
//   output  behind stages ip_forward, bridge and flood, by the egress interface:
//             [acl_out] [count_out], then bridge; or [vlan_push], then vxlan_output; or [vlan_push] [sample_out] [mirror_out] tx
//
// The owner of a feature sets its bit in the paths of the interfaces that have it; complete_paths() (graph.hpp) then
// takes the fast paths out of paths with a stage whose work they do not do.
#pragma once

#include <cstdint>

namespace turnpike::datapath {

using stage_mask = uint32_t;  ///< bit s is stage s (graph.hpp)

/// The paths of an interface; eight interfaces share a cache line of the snapshot.
struct interface_paths {
    stage_mask input = 0;   ///< 0: no interface
    stage_mask output = 0;  ///< ip_input in it: stages need the packet's headers parsed
};

}  // namespace turnpike::datapath
