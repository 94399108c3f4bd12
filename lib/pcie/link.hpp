// SPDX-License-Identifier: BSD-3-Clause
// A PCIe link: negotiated parameters, capacity, and overhead per TLP.
//
// Source: Neugebauer et al., "Understanding PCIe performance for end host networking" (SIGCOMM
// 2018), section 3; PCI Express Base Specification 3.0, sections 2.6.1.2 and 3.5.2.1 (intervals of
// flow control updates and acknowledgements).
//
//   framing 2 | DLL 6 | TLP header 4 + 12 (MRd, MWr; 8 with 32-bit addresses) or 4 + 8 (CplD)
//             |       | payload | ECRC 4, where in use
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace turnpike::pcie {

/// In this library "up" is from device to host, "down" from host to device.
struct link {
    uint8_t gen = 3;      ///< 1 to 6
    uint8_t lanes = 8;    ///< 1, 2, 4, 8, 12, 16 or 32
    uint16_t mps = 256;   ///< Maximum Payload Size in bytes: 128 to 4096, a power of two
    uint16_t mrrs = 512;  ///< Maximum Read Request Size in bytes: 128 to 4096, a power of two
    uint16_t rcb = 64;    ///< Read Completion Boundary in bytes: 64 or 128
    bool addr64 = true;   ///< requests carry 64-bit addresses
    bool ecrc = false;    ///< every TLP carries the optional end-to-end CRC
    bool sizes_assumed = false;  ///< mps and mrrs are defaults: the device's could not be read

    bool operator==(const link&) const = default;
};

/// Overhead bytes of a memory write or read request (framing, DLL and TLP header).
constexpr uint32_t request_overhead_bytes(const link& l) noexcept {
    return 20u + (l.addr64 ? 4u : 0u) + (l.ecrc ? 4u : 0u);
}

/// Overhead bytes of a completion with data.
constexpr uint32_t completion_overhead_bytes(const link& l) noexcept {
    return 20u + (l.ecrc ? 4u : 0u);
}

/// Physical rate of one direction after line coding, in Gb/s (gen3 x8: 63.015).
[[nodiscard]] double raw_gbps(const link& l) noexcept;

/// raw_gbps() less ACK, flow control and SKP (gen3 x8, MPS 256: 57.885). Uses the update intervals
/// that the specification recommends, so it is a low estimate.
[[nodiscard]] double tlp_gbps(const link& l) noexcept;

/// Gen 6 sends FLITs of fixed size (no framing per TLP, other header formats); this model applies
/// the arithmetic of gen 1 to 5 to gen 6's rate.
constexpr bool is_approximate(const link& l) noexcept { return l.gen >= 6; }

/// Parse "gen3x8" (other fields keep their defaults).
///
/// Errors  EINVAL: another format, or an unknown generation or width
[[nodiscard]] result<link> parse_link(std::string_view text);

/// "gen3x8".
[[nodiscard]] std::string to_string(const link& l);

/// All other functions of this library require a link that passed validate().
///
/// Errors  EINVAL, `object` names the field ("link.mps")
[[nodiscard]] result<void> validate(const link& l);

}  // namespace turnpike::pcie
