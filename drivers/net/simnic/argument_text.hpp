// SPDX-License-Identifier: BSD-3-Clause
// Parse argument values. Each function returns false, and does not change `into`, if the text is
// invalid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/arguments.hpp"
#include "net/ip.hpp"
#include "net/mac.hpp"

namespace turnpike::simnic {

inline bool read_mac(std::string_view text, mac_address& into) {
    const auto mac = parse_mac(text);
    if (mac) into = *mac;
    return mac.has_value();
}

inline bool read_ipv4(std::string_view text, std::optional<uint32_t>& into) {
    const auto address = parse_address(text);
    if (!address || address->v6) return false;
    into = address->v4();
    return true;
}

/// "1000000", "500k", "1.5M"
inline bool read_rate(std::string_view text, double& into) {
    double scale = 1;
    if (text.ends_with('k')) scale = 1e3;
    if (text.ends_with('M')) scale = 1e6;
    if (scale > 1) text.remove_suffix(1);
    double n = 0;
    if (!read_number<double>(text, 0, 1e9, n) || n * scale > 1e9) return false;
    into = n * scale;
    return true;
}

/// A fraction: 0 to 1
inline bool read_share(std::string_view text, double& into) {
    return read_number<double>(text, 0, 1, into);
}

/// "500-100": two whole numbers from 1 to most
inline bool read_pair(std::string_view text, uint32_t most, uint32_t& first, uint32_t& second) {
    const size_t dash = text.find('-');
    uint32_t a = 0, b = 0;
    if (dash == std::string_view::npos ||
        !read_number<uint32_t>(text.substr(0, dash), 1, most, a) ||
        !read_number<uint32_t>(text.substr(dash + 1), 1, most, b))
        return false;
    first = a;
    second = b;
    return true;
}

}  // namespace turnpike::simnic
