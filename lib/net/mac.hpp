// SPDX-License-Identifier: BSD-3-Clause
// A MAC address: wire format and text format.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace turnpike {

struct mac_address {
    uint8_t bytes[6];

    /// Multicast or broadcast: the I/G bit (IEEE 802.3 section 3.2.3).
    constexpr bool is_group() const noexcept { return bytes[0] & 1; }
    constexpr bool is_zero() const noexcept {
        return (bytes[0] | bytes[1] | bytes[2] | bytes[3] | bytes[4] | bytes[5]) == 0;
    }
    constexpr auto operator<=>(const mac_address&) const noexcept = default;
    constexpr bool operator==(const mac_address& other) const noexcept {
        using words = std::array<uint16_t, 3>;  // for comparison by words, as in ipv6_address
        const auto a = std::bit_cast<words>(*this), b = std::bit_cast<words>(other);
        return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2])) == 0;
    }
    /// "02:00:00:00:00:01"
    [[nodiscard]] std::string text() const;
};
inline constexpr mac_address broadcast_mac{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

/// "02:00:00:00:00:01"; accepts group addresses. Errors: EINVAL with a sentence, without an object.
[[nodiscard]] result<mac_address> parse_mac(std::string_view text);

}  // namespace turnpike
