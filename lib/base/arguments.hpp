// SPDX-License-Identifier: BSD-3-Clause
// Device arguments as text: "key=value,key=value".
#pragma once

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/next_piece.hpp"
#include "base/result.hpp"

namespace turnpike {

/// Parse a number from `low` to `high` without trailing text; on failure return false and leave
/// `into` unchanged.
template <class Number>
inline bool read_number(std::string_view text, Number low, Number high, Number& into) {
    Number n{};
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (code != std::errc() || end != text.data() + text.size() || !(n >= low && n <= high))
        return false;  // NaN, too
    into = n;
    return true;
}

/// rows   the known arguments: each has a `name`; at most 64
/// read   result<void>(const row&, std::string_view value), called for each argument given
/// Returns a bit for each row that was given
/// Errors  EINVAL, `object` is the argument: not key=value, unknown, given twice; errors of read
template <class Row, size_t N, class Read>
[[nodiscard]] result<uint64_t> read_arguments(std::string_view text, std::span<const Row, N> rows,
                                              const Read& read) {
    static_assert(N <= 64);
    uint64_t given = 0;
    while (!text.empty()) {
        const std::string_view pair = next_piece(text, ',');
        const size_t equal = pair.find('=');
        if (equal == std::string_view::npos)
            return fail(EINVAL, "argument '" + std::string(pair) + "'",
                        "arguments are key=value, separated by commas");
        size_t at = 0;
        while (at < N && rows[at].name != pair.substr(0, equal)) ++at;
        if (at == N) {
            std::string names;
            for (const Row& row : rows)
                names += (names.empty() ? "" : ", ") + std::string(row.name);
            return fail(EINVAL, std::string(pair), "unknown argument; known are " + names);
        }
        if ((given >> at & 1) != 0) return fail(EINVAL, std::string(pair), "is given twice");
        given |= uint64_t{1} << at;
        if (auto taken = read(rows[at], pair.substr(equal + 1)); !taken)
            return tl::unexpected<error>(taken.error());
    }
    return given;
}

}  // namespace turnpike
