// SPDX-License-Identifier: BSD-3-Clause
// A list of errors of one configuration.
#pragma once

#include <utility>
#include <vector>

#include "base/result.hpp"

namespace turnpike::state {

using errors = std::vector<error>;

/// Later errors are left out.
inline constexpr size_t max_errors = 100;

inline void add_error(errors& to, result<void> checked) {
    if (!checked && to.size() < max_errors) to.push_back(std::move(checked.error()));
}

}  // namespace turnpike::state
