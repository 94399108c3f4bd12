// SPDX-License-Identifier: BSD-3-Clause
// The burst: what travels through the stages. One struct of arrays, index i is packet i.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>

#include "packet/drop_reason.hpp"

namespace turnpike::datapath {

inline constexpr uint32_t burst_max = 32;
inline constexpr uint16_t max_ports = 32;

/// rx sets packet, count and in_port; each later stage fills what its header says it writes.
/// drop  none: the packet leaves by out_port; else it is freed and counted there and then by send
struct burst {
    std::array<rte_mbuf*, burst_max> packet;
    std::array<uint16_t, burst_max> out_port;
    std::array<packet::drop_reason, burst_max> drop;
    uint32_t count = 0;
    uint16_t in_port = 0;
};

}  // namespace turnpike::datapath
