// SPDX-License-Identifier: BSD-3-Clause
#include "text_file.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "base/printable.hpp"

namespace turnpike::ctl {

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const auto first = static_cast<unsigned char>(text[0]);
        size_t bytes = first < 0x80 ? 1 : detail::printable_front(text);
        if (bytes == 0 && first == 0xc2 && text.size() > 1 && (text[1] & 0xe0) == 0x80)
            bytes = 2;  // C1 control codes
        if (bytes == 0) return false;
        text.remove_prefix(bytes);
    }
    return true;
}

result<void> check_utf8(std::string_view text, const std::string& file, size_t first_line) {
    if (is_utf8(text)) return {};
    for (size_t number = first_line;; ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        if (!is_utf8(line))
            return fail(EINVAL, file + ":" + std::to_string(number), "is not UTF-8");
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
}

result<void> check_read(const std::istream& in, const std::string& file) {
    // Standard input reads by stdio, whose errors the stream takes for the end.
    if (!in.bad() && (&in != &std::cin || std::ferror(stdin) == 0)) return {};
    return fail(errno != 0 ? errno : EIO, file, "cannot be read");
}

}  // namespace turnpike::ctl
