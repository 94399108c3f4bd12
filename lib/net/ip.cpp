// SPDX-License-Identifier: BSD-3-Clause
#include "net/ip.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>

#include "base/arguments.hpp"
#include "base/byte_order.hpp"

namespace turnpike {

uint32_t ip_address::v4() const noexcept { return load_be<uint32_t>(bytes.data()); }

ipv6_address ip_address::v6_bytes() const noexcept {
    ipv6_address out;
    std::copy(bytes.begin(), bytes.end(), out.bytes);
    return out;
}

bool ip_address::is_link_local() const noexcept {
    return v6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

bool ip_address::is_multicast() const noexcept {
    return v6 ? bytes[0] == 0xff : bytes[0] >> 4 == 0xe;
}

bool ip_address::is_host() const noexcept {
    if (!v6) return bytes[0] != 0 && bytes[0] != 127 && bytes[0] < 224;
    if (is_multicast()) return false;
    const ipv6_address a = v6_bytes();
    const bool unspecified_or_loopback =
        std::all_of(a.bytes, a.bytes + 15, [](uint8_t b) { return b == 0; }) && a.bytes[15] < 2;
    const bool mapped = std::all_of(a.bytes, a.bytes + 10, [](uint8_t b) { return b == 0; }) &&
                        a.bytes[10] == 0xff && a.bytes[11] == 0xff;
    return !unspecified_or_loopback && !mapped;
}

std::string ip_address::text() const {
    char out[INET6_ADDRSTRLEN];
    return inet_ntop(v6 ? AF_INET6 : AF_INET, bytes.data(), out, sizeof out);
}

ip_address ip_address::from_v4(uint32_t host_order) noexcept {
    ip_address a;
    store_be(a.bytes.data(), host_order);
    return a;
}

ip_address ip_address::from_v6(const uint8_t* bytes) noexcept {
    ip_address a{.v6 = true};
    std::copy_n(bytes, a.bytes.size(), a.bytes.begin());
    return a;
}

ip_prefix ip_prefix::network() const noexcept {
    ip_prefix n = *this;
    for (unsigned i = 0; i < n.address.bytes.size(); ++i) {
        const unsigned kept = length > 8 * i ? std::min(8U, length - 8 * i) : 0;
        n.address.bytes[i] = static_cast<uint8_t>(n.address.bytes[i] & (0xff00 >> kept));
    }
    return n;
}

bool ip_prefix::contains(const ip_address& a) const noexcept {
    return a.v6 == address.v6 && ip_prefix{a, length}.network() == network();
}

std::string ip_prefix::text() const { return address.text() + "/" + std::to_string(length); }

namespace {

/// inet_pton's format: four numbers below 256, no leading zero.
std::optional<ip_address> parse_v4(std::string_view text) noexcept {
    ip_address a;
    size_t at = 0;
    for (unsigned part = 0; part < 4; ++part) {
        if (part > 0 && (at == text.size() || text[at++] != '.')) return std::nullopt;
        const size_t first = at;
        unsigned value = 0;
        for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && at < first + 3; ++at)
            value = 10 * value + static_cast<unsigned>(text[at] - '0');
        if (at == first || value > 255 || (text[first] == '0' && at > first + 1))
            return std::nullopt;
        a.bytes[part] = static_cast<uint8_t>(value);
    }
    return at == text.size() ? std::optional(a) : std::nullopt;
}

}  // namespace

result<ip_address> parse_address(std::string_view text) {
    // Fast path for IPv4, the common case in large route files: inet_pton needs a NUL-terminated
    // copy.
    if (const auto v4 = parse_v4(text)) return *v4;
    const std::string copy(text);
    ip_address a;
    // inet_pton would stop at a NUL, which YAML can escape.
    const bool whole = copy.find('\0') == std::string::npos;
    a.v6 = true;
    if (whole && inet_pton(AF_INET6, copy.c_str(), a.bytes.data()) == 1) return a;
    return fail(EINVAL, "", "should be an IPv4 or IPv6 address, not '" + copy.substr(0, 80) + "'");
}

result<ip_prefix> parse_prefix(std::string_view text) {
    const size_t slash = text.find('/');
    if (slash == std::string_view::npos)
        return fail(EINVAL, "",
                    "should have a length, as in 10.0.0.0/8; it is '" +
                        std::string(text.substr(0, 80)) + "'");
    const auto address = parse_address(text.substr(0, slash));
    if (!address) return tl::unexpected<error>(address.error());
    const std::string_view digits = text.substr(slash + 1);
    unsigned length = 0;
    if (!read_number(digits, 0u, address->bits(), length))
        return fail(EINVAL, "",
                    "should have a length from 0 to " + std::to_string(address->bits()) +
                        " after the '/', not '" + std::string(digits.substr(0, 80)) + "'");
    return ip_prefix{*address, static_cast<uint8_t>(length)};
}

}  // namespace turnpike
