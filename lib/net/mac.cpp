// SPDX-License-Identifier: BSD-3-Clause
#include "net/mac.hpp"

#include <charconv>
#include <utility>

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
    constexpr size_t bytes = 6;
    // 02:00:00:00:00:01, 02-00-00-00-00-01 (IEEE 802), 0200.0000.0001 (Cisco)
    for (const auto& [separator, group] : {std::pair{':', 1u}, {'-', 1u}, {'.', 2u}}) {
        mac_address mac{};
        const size_t separators = bytes / group - 1;
        bool good = text.size() == 2 * bytes + separators;
        for (size_t i = 0; good && i < bytes; ++i) {
            const char* at = text.data() + 2 * i + i / group;
            const auto [end, code] = std::from_chars(at, at + 2, mac.bytes[i], 16);
            const bool is_last_of_group = (i + 1) % group == 0 && i + 1 != bytes;
            good =
                code == std::errc() && end == at + 2 && (!is_last_of_group || at[2] == separator);
        }
        if (good) return mac;
    }
    return fail(EINVAL, "",
                "should be a MAC address as in 02:00:00:00:00:01, not '" +
                    std::string(text.substr(0, 80)) + "'");
}

}  // namespace turnpike
