// SPDX-License-Identifier: BSD-3-Clause
#include "state/host_pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace turnpike::state {
namespace {

constexpr std::string_view wanted =
    "a multicast address, a group MAC address, or an EtherType from 0x0600 on";

/// Empty: no EtherType, or one that the router itself handles.
std::optional<ether_type> parse_ether_type(std::string_view text) {
    constexpr std::array<uint16_t, 6> of_router{0x0800, 0x0806, 0x86dd, 0x8100, 0x88a8, 0xffff};
    constexpr uint16_t least = 0x0600;  // IEEE 802.3 section 3.2.6: below are lengths
    uint16_t value = 0;
    const char *const first = text.data() + 2, *const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(first, last, value, 16);
    if (error != std::errc() || end != last || value < least ||
        std::find(of_router.begin(), of_router.end(), value) != of_router.end())
        return std::nullopt;
    return ether_type{value};
}

}  // namespace

std::string host_pass::text() const {
    if (const auto* const type = std::get_if<ether_type>(&what))
        return fmt::format("0x{:04x}", type->value);
    if (const auto* const mac = std::get_if<mac_address>(&what)) return mac->text();
    return std::get<ip_address>(what).text();
}

result<host_pass> parse_host_pass(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) {
        if (const auto type = parse_ether_type(text)) return host_pass{*type};
        return fail(
            EINVAL, {},
            fmt::format("'{}' should be {}, and none of IP, ARP or VLAN tags", text, wanted));
    }
    if (const auto mac = parse_mac(text); mac && mac->is_group() && *mac != broadcast_mac)
        return host_pass{*mac};
    if (const auto group = parse_address(text); group && group->is_multicast())
        return host_pass{*group};
    return fail(EINVAL, {}, fmt::format("'{}' should be {}", text, wanted));
}

}  // namespace turnpike::state
