// SPDX-License-Identifier: BSD-3-Clause
// Text that is sent to turnpike: UTF-8, read to its end.
#pragma once

#include <istream>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace turnpike::ctl {

[[nodiscard]] bool is_utf8(std::string_view text) noexcept;
/// first_line  number of the text's first line
/// Errors      EINVAL with "FILE:LINE"
[[nodiscard]] result<void> check_utf8(std::string_view text, const std::string& file,
                                      size_t first_line = 1);
/// Whether reading failed, other than by the end of the file.
/// Errors  with the file
[[nodiscard]] result<void> check_read(const std::istream& in, const std::string& file);

}  // namespace turnpike::ctl
