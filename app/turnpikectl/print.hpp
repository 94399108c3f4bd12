// SPDX-License-Identifier: BSD-3-Clause
// Human-readable answers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::ctl {

/// A text of an object; empty: none.
[[nodiscard]] std::string text_of(const nlohmann::json& of, const char* name);
/// A value of an object, on a terminal; "null": none.
[[nodiscard]] std::string value_text(const nlohmann::json& of, const char* name);
/// A table of `columns` if the result has the list `list`, otherwise one line per value.
[[nodiscard]] std::string shown_text(std::string_view list, std::string_view columns,
                                     const nlohmann::json& result);
/// Aligns cells in columns, as many as the first line has, without trailing blanks.
/// right  per column: right-aligned
[[nodiscard]] std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& lines,
                                               const std::vector<bool>& right);
/// A number with three or four digits and a prefix: "12.34 M".
[[nodiscard]] std::string scaled(double value);
/// A summary line of the changes, and a line per named object.
[[nodiscard]] std::string changes_text(const nlohmann::json& result);
/// Seconds until a change is undone; empty: it awaits no confirmation.
/// asked  seconds of the request, for the answer of an earlier turnpike, which does not say; or empty
[[nodiscard]] std::string undone_in(const nlohmann::json& result, const std::string& asked);

}  // namespace turnpike::ctl
