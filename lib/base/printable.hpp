// SPDX-License-Identifier: BSD-3-Clause
// Escapes untrusted text for messages on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace turnpike {

namespace detail {

/// Length of the well-formed UTF-8 character at the front of `text`, unless it is a control
/// character (Unicode 15, table 3-7); 0: none.
constexpr size_t printable_front(std::string_view text) noexcept {
    const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
    const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return 0;
    // Range of the second byte: no overlong form, no surrogate, no code point over U+10FFFF; U+0080
    // to U+009F are terminal control codes.
    const unsigned lowest = first == 0xc2 || first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned highest = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (byte(1) < lowest || byte(1) > highest) return 0;
    for (size_t i = 2; i < bytes; ++i)
        if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
    return bytes;
}

}  // namespace detail

/// Keep printable UTF-8; replace each other byte by \xNN.
inline std::string printable(std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    std::string out;
    while (!text.empty()) {
        const size_t good = detail::printable_front(text);
        if (good != 0) {
            out += text.substr(0, good);
        } else {
            const auto byte = static_cast<unsigned char>(text[0]);
            out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        }
        text.remove_prefix(good != 0 ? good : 1);
    }
    return out;
}

}  // namespace turnpike
