// SPDX-License-Identifier: BSD-3-Clause
// ECN of tunnelled packets, encapsulation and decapsulation (RFC 6040), and access to the field:
// IPv4's TOS, IPv6's traffic class.
#pragma once

#include <cstdint>

#include "packet/checksum.hpp"
#include "packet/headers.hpp"

namespace turnpike::packet {

/// RFC 3168 section 5.
enum ecn : uint8_t { ecn_not_capable = 0, ecn_ect1 = 1, ecn_ect0 = 2, ecn_congested = 3 };
inline constexpr uint8_t ecn_mask = 3;

/// Result of decapsulation.
struct decapsulated_ecn {
    uint8_t mark = 0;
    bool drop = false;  ///< the outer header is CE and the inner packet is not ECN-capable
};

/// RFC 6040 section 4.2, figure 4. (Encapsulation, normal mode: copy the inner field.)
constexpr decapsulated_ecn decapsulate_ecn(uint8_t inner, uint8_t outer) noexcept {
    if (inner == ecn_not_capable) return {ecn_not_capable, outer == ecn_congested};
    if (outer == ecn_congested) return {ecn_congested, false};
    if (inner == ecn_ect0 && outer == ecn_ect1) return {ecn_ect1, false};
    return {inner, false};
}

/// TOS, or traffic class, of an IPv4 or IPv6 header.
inline uint8_t traffic_class(const uint8_t* l3, bool v4) noexcept {
    return v4 ? l3[1] : static_cast<uint8_t>(load_be<uint16_t>(l3) >> 4);
}

/// Set the ECN field; updates IPv4's header checksum.
inline void set_ecn(uint8_t* l3, bool v4, uint8_t mark) noexcept {
    if (!v4) {
        l3[1] = static_cast<uint8_t>((l3[1] & ~(ecn_mask << 4)) | mark << 4);
        return;
    }
    auto& ip = header_at<ipv4_header>(l3);
    const auto before = load_be<uint16_t>(l3);
    ip.tos = static_cast<uint8_t>((ip.tos & ~ecn_mask) | mark);
    ip.checksum = update_checksum(ip.checksum, before, load_be<uint16_t>(l3));
}

}  // namespace turnpike::packet
