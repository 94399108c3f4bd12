// SPDX-License-Identifier: BSD-3-Clause
// Does a frame of the configured MTU fit everywhere it is put? Private to this room.
#pragma once

#include <cstdint>
#include <string>

struct rte_eth_dev_info;

namespace turnpike::rxtx {

struct port_settings;

/// Bytes of a frame beside its MTU: Ethernet header, two VLAN tags, FCS.
inline constexpr uint32_t frame_overhead_bytes = 14 + 2 * 4 + 4;

/// The largest MTU that the driver says it takes.
uint16_t largest_mtu(const rte_eth_dev_info& info) noexcept;

/// Empty where frames fit, else a sentence that says which number must change.
/// scatter  out: a frame needs several buffers and the driver can do that
std::string frame_room_shortage(const port_settings& settings, const rte_eth_dev_info& info,
                                bool& scatter);

}  // namespace turnpike::rxtx
