// SPDX-License-Identifier: BSD-3-Clause
// The frame of a request `explain`: its bytes, or an IP packet by its fields.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/management/show.hpp"
#include "datapath/snapshot.hpp"

namespace turnpike::control {

using frame_bytes = std::vector<uint8_t>;

/// Two hexadecimal digits for each byte. Throws error.
[[nodiscard]] frame_bytes from_hex(const std::string& text);

/// An IP packet in an Ethernet frame of minimum length.
/// vlan  VLAN ID of its tag; 0: untagged
/// f     from, to, protocol, source_port, destination_port, ttl, bytes, source_mac, destination_mac
/// Throws error.
[[nodiscard]] frame_bytes frame_of(const datapath::snapshot& v, uint16_t port, uint16_t vlan,
                                   const request_fields& f);

}  // namespace turnpike::control
