// SPDX-License-Identifier: BSD-3-Clause
// What `protocol:` of a filter entry names.
// Source: IANA's protocol-numbers and ieee-802-numbers registries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike::xsk {

/// Of an IP packet (number) or of a frame that has none (ether_type, then number is nothing).
struct protocol {
    std::string name{};
    std::optional<uint8_t> number{};
    uint16_t ether_type = 0;
    bool ipv4 = true, ipv6 = true;  ///< which of them it goes with
};

/// A name, or a number from 0 to 255 of an IP protocol; nothing where it is neither.
[[nodiscard]] std::optional<protocol> find_protocol(std::string_view text);
/// "ah, arp, ...": for messages.
[[nodiscard]] std::string all_protocol_names();
/// TCP, UDP, UDP-Lite, SCTP
[[nodiscard]] bool has_ports(uint8_t number) noexcept;
/// What stands between an IPv6 header and a protocol, and is none.
[[nodiscard]] bool is_extension_header(uint8_t number) noexcept;

}  // namespace turnpike::xsk
