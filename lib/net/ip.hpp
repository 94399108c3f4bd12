// SPDX-License-Identifier: BSD-3-Clause
// IP addresses and prefixes of both families: wire format and text format.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace turnpike {

/// An IPv6 address in wire format.
struct ipv6_address {
    uint8_t bytes[16];

    constexpr auto operator<=>(const ipv6_address&) const noexcept = default;
    /// Compares words, not bytes: forwarding compares addresses for every packet.
    constexpr bool operator==(const ipv6_address& other) const noexcept {
        using words = std::array<uint64_t, 2>;
        const auto a = std::bit_cast<words>(*this), b = std::bit_cast<words>(other);
        return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0;
    }
};

/// An IPv4 or IPv6 address in network order; an IPv4 address is the first four bytes.
struct ip_address {
    bool v6 = false;
    std::array<uint8_t, 16> bytes{};

    /// IPv4 before IPv6. Compares words: the order of tables with a million routes.
    constexpr std::strong_ordering operator<=>(const ip_address& other) const noexcept {
        if (v6 != other.v6) return v6 <=> other.v6;
        const auto a = std::bit_cast<words>(bytes), b = std::bit_cast<words>(other.bytes);
        if (a[0] != b[0]) return in_order(a[0]) <=> in_order(b[0]);
        return in_order(a[1]) <=> in_order(b[1]);
    }
    constexpr bool operator==(const ip_address& other) const noexcept {
        return v6 == other.v6 && std::bit_cast<words>(bytes) == std::bit_cast<words>(other.bytes);
    }
    [[nodiscard]] unsigned bits() const noexcept { return v6 ? 128 : 32; }
    [[nodiscard]] uint32_t v4() const noexcept;  ///< host order
    [[nodiscard]] ipv6_address v6_bytes() const noexcept;
    [[nodiscard]] bool is_link_local() const noexcept;  ///< fe80::/10
    [[nodiscard]] bool is_multicast() const noexcept;
    /// Whether a host may have the address: not unspecified, loopback, multicast, reserved (240.0.0.0/4, RFC 1112), of
    /// 0.0.0.0/8, or IPv4-mapped (RFC 4291 section 2.5.5.2).
    [[nodiscard]] bool is_host() const noexcept;
    [[nodiscard]] std::string text() const;

    static ip_address from_v4(uint32_t host_order) noexcept;
    static ip_address from_v6(const uint8_t* bytes) noexcept;
    static ip_address from_v6(const ipv6_address& a) noexcept { return from_v6(a.bytes); }

  private:
    using words = std::array<uint64_t, 2>;
    /// Byte-swapped on little-endian hosts, so that the first bytes are the most significant.
    static constexpr uint64_t in_order(uint64_t word) noexcept {
        return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
    }
};

struct ip_prefix {
    ip_address address{};  ///< may have host bits: then it is an address on that network
    uint8_t length = 0;

    auto operator<=>(const ip_prefix&) const = default;
    /// The prefix with its host bits cleared.
    [[nodiscard]] ip_prefix network() const noexcept;
    [[nodiscard]] bool contains(const ip_address& a) const noexcept;
    [[nodiscard]] std::string text() const;
};

/// "10.0.0.1", "2001:db8::1". Errors: EINVAL with a sentence, without an object.
[[nodiscard]] result<ip_address> parse_address(std::string_view text);
/// "10.0.0.0/8". Errors: EINVAL with a sentence, without an object.
[[nodiscard]] result<ip_prefix> parse_prefix(std::string_view text);

}  // namespace turnpike
