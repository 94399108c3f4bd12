// SPDX-License-Identifier: BSD-3-Clause
// The mark by which editors, most on Windows, begin a text file (Unicode 15.0, section 23.8).
#pragma once

#include <string_view>

#include "base/result.hpp"

namespace turnpike::yaml {

/// The text behind a byte order mark of UTF-8.
/// Errors  EINVAL: the text is UTF-16
[[nodiscard]] inline result<std::string_view> without_byte_order_mark(std::string_view text) {
    if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
        return fail(EINVAL, {}, "is UTF-16 text; save it as UTF-8");
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    return text;
}

}  // namespace turnpike::yaml
