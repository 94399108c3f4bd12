// SPDX-License-Identifier: BSD-3-Clause
// Values of the key `protocol` in a filter entry.
//
// Source: IANA's protocol-numbers and ieee-802-numbers registries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike::xsk {

/// The protocol of an IP packet (number), or of a non-IP frame (ether_type; number is unused).
struct protocol {
    std::string name{};
    std::optional<uint8_t> number{};
    uint16_t ether_type = 0;
    bool ipv4 = true, ipv6 = true;  ///< the address families that carry it
};

/// Look up a name, or a number from 0 to 255 of an IP protocol; nullopt if it is neither.
[[nodiscard]] std::optional<protocol> find_protocol(std::string_view text);
/// "ah, arp, ...": for messages.
[[nodiscard]] std::string all_protocol_names();
/// TCP, UDP, UDP-Lite, SCTP
[[nodiscard]] bool has_ports(uint8_t number) noexcept;
/// An IPv6 extension header (RFC 8200 section 4) rather than an upper-layer protocol.
[[nodiscard]] bool is_extension_header(uint8_t number) noexcept;

}  // namespace turnpike::xsk
