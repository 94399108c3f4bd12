// SPDX-License-Identifier: BSD-3-Clause
// The control side's way of failing: a value, or what went wrong, where, and what to do.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "base/printable.hpp"

namespace turnpike {

/// code    a positive errno value
/// object  what the failure is about: a file:line, a port's name, a table's name
/// text    a plain sentence: what is wrong and what would be right
struct error {
    int code = 0;
    std::string object;
    std::string text;

    /// "OBJECT: TEXT (errno in words)"; the errno is left out where the text says it all (EINVAL).
    /// Printable whatever it quotes.
    [[nodiscard]] std::string message() const {
        std::string out = printable(object.empty() ? text : object + ": " + text);
        if (code != 0 && code != EINVAL) out += std::string(" (") + std::strerror(code) + ")";
        return out;
    }
};

template <class T>
using result = tl::expected<T, error>;

/// `return fail(EINVAL, "ports[0]", "...");` in a function that returns a result.
[[nodiscard]] inline tl::unexpected<error> fail(int code, std::string object, std::string text) {
    return tl::unexpected<error>(error{code, std::move(object), std::move(text)});
}

}  // namespace turnpike
