// SPDX-License-Identifier: BSD-3-Clause
// Counters of an interface that shares its port, by worker. Stages count_in and count_out, which only the paths of such
// interfaces have, add to them; an interface alone on its port has the port's counters (control/forwarding/interface_counts.hpp).
#pragma once

#include "counters/counter.hpp"
#include "datapath/burst.hpp"

namespace turnpike::datapath {

struct context;

/// Bytes of frames without FCS and without the interface's own VLAN tag.
/// Threads  written by one worker, read by any
struct interface_counters {
    counters::counter rx_packets, rx_bytes, tx_packets, tx_bytes;
};

/// Count packets that stage ip_fast sends, where it does the work of the stages in front of vlan_push. Their tag is pushed.
void count_sent_tagged(const context& c, const burst& b, packet_mask packets) noexcept;

}  // namespace turnpike::datapath
