// SPDX-License-Identifier: BSD-3-Clause
// Lists in a text: "a,b,c".
#pragma once

#include <algorithm>
#include <string_view>

namespace turnpike {

/// Remove and return the text up to the next separator, which is removed too; without one, all of it.
inline std::string_view next_piece(std::string_view& text, char separator) noexcept {
    const std::string_view piece = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(piece.size() + 1, text.size()));
    return piece;
}

}  // namespace turnpike
