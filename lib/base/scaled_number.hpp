// SPDX-License-Identifier: BSD-3-Clause
// Whole numbers with a unit: 10k, 1.5M, 2G.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace turnpike {

/// A number in digits, or with k (1,000), M or G behind it and then with a decimal point, if the number is whole: 1.5k, not 1.2345k.
/// Returns  nothing: another text, or a number over 64 bits
inline std::optional<uint64_t> scaled_number(std::string_view text) noexcept {
    constexpr std::string_view units = "kMG";
    const size_t unit = text.empty() ? units.npos : units.find(text.back());
    size_t zeros = 0;
    if (unit != units.npos) {
        zeros = 3 * (unit + 1);
        text.remove_suffix(1);
    }
    uint64_t value = 0;
    const auto append = [&value](std::string_view digits) {
        for (const char c : digits)
            if (c < '0' || c > '9' || __builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, static_cast<uint64_t>(c - '0'), &value))
                return false;
        return true;
    };
    const size_t point = zeros == 0 ? text.npos : text.find('.');
    const std::string_view whole = text.substr(0, point),
                           fraction = point == text.npos ? "" : text.substr(point + 1);
    if (whole.empty() || (point != text.npos && fraction.empty()) || fraction.size() > zeros ||
        !append(whole) || !append(fraction) ||
        !append(std::string_view("000000000").substr(0, zeros - fraction.size())))
        return {};
    return value;
}

}  // namespace turnpike
