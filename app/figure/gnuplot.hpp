// SPDX-License-Identifier: BSD-3-Clause
// Pictures by gnuplot, which programs feed a script with the data inside.
#pragma once

#include <string>

#include "base/result.hpp"

namespace turnpike::figure {

/// Inside a gnuplot string of single quotes.
[[nodiscard]] std::string quoted(std::string text);

/// Errors  ENOENT: gnuplot is not installed
///         EIO: gnuplot failed (it says why on standard error)
[[nodiscard]] result<void> run_gnuplot(const std::string& program);

}  // namespace turnpike::figure
