// SPDX-License-Identifier: BSD-3-Clause
// A list of errors of one configuration.
#pragma once

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/result.hpp"
#include "state/origin.hpp"

namespace turnpike::state {

using errors = std::vector<error>;

/// Later errors are left out.
inline constexpr size_t max_errors = 100;

inline void add_error(errors& to, result<void> checked) {
    if (!checked && to.size() < max_errors) to.push_back(std::move(checked.error()));
}

/// An error of a value; the caller adds its place.
template <class... Values>
[[nodiscard]] tl::unexpected<error> refuse(fmt::format_string<Values...> text, Values&&... values) {
    return fail(EINVAL, "", fmt::format(text, std::forward<Values>(values)...));
}
/// An error at an object's place.
template <class... Values>
[[nodiscard]] result<void> refuse(const origin& where, fmt::format_string<Values...> text,
                                  Values&&... values) {
    return fail(EINVAL, where.text, fmt::format(text, std::forward<Values>(values)...));
}

}  // namespace turnpike::state
