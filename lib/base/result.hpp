// SPDX-License-Identifier: BSD-3-Clause
// Errors on the control side: a value, or a cause, its object and a remedy.
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
/// object  the object of the failure: a file:line, a port's name, a table's name
/// text    a plain sentence: the mistake and the accepted values
struct error {
    int code = 0;
    std::string object;
    std::string text;

    /// "OBJECT: TEXT (strerror)"; without strerror for EINVAL. Escapes unprintable bytes.
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
