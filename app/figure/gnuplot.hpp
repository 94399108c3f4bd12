// SPDX-License-Identifier: BSD-3-Clause
// Runs gnuplot on a script that contains the data.
#pragma once

#include <string>

#include "base/result.hpp"

namespace turnpike::figure {

/// Escape a string for single quotes in gnuplot.
[[nodiscard]] std::string quoted(std::string text);

/// Errors  ENOENT: gnuplot is not installed
///         EIO: gnuplot failed (its message is on standard error)
[[nodiscard]] result<void> run_gnuplot(const std::string& program);

}  // namespace turnpike::figure
