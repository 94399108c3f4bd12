// SPDX-License-Identifier: BSD-3-Clause
// Checks that a frame of the configured MTU fits every buffer. Private to this library.
#pragma once

#include <cstdint>
#include <string>

struct rte_eth_dev_info;

namespace turnpike::rxtx {

struct port_settings;

/// Bytes of a frame besides its MTU: Ethernet header, two VLAN tags, FCS.
inline constexpr uint32_t frame_overhead_bytes = 14 + 2 * 4 + 4;

/// The largest MTU that the driver reports.
uint16_t largest_mtu(const rte_eth_dev_info& info) noexcept;

/// Empty if frames fit, else a sentence that names the setting to change.
///
/// scatter  out: a frame needs several buffers and the driver supports it
std::string frame_room_shortage(const port_settings& settings, const rte_eth_dev_info& info,
                                bool& scatter);

}  // namespace turnpike::rxtx
