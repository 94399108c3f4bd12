// SPDX-License-Identifier: BSD-3-Clause
#include "net/mac.hpp"

#include <charconv>

namespace turnpike {

std::string mac_address::text() const {
    constexpr char digits[] = "0123456789abcdef";
    std::string out;
    for (const uint8_t b : bytes) {
        if (!out.empty()) out += ':';
        out += digits[b >> 4];
        out += digits[b & 15];
    }
    return out;
}

result<mac_address> parse_mac(std::string_view text) {
    constexpr size_t bytes = 6, step = 3;
    mac_address mac{};
    bool good = text.size() == bytes * step - 1;
    for (size_t i = 0; good && i < bytes; ++i) {
        const char* at = text.data() + i * step;
        const auto [end, code] = std::from_chars(at, at + 2, mac.bytes[i], 16);
        good = code == std::errc() && end == at + 2 && (i + 1 == bytes || at[2] == ':');
    }
    if (good) return mac;
    return fail(EINVAL, "",
                "should be a MAC address as in 02:00:00:00:00:01, not '" +
                    std::string(text.substr(0, 80)) + "'");
}

}  // namespace turnpike
