// SPDX-License-Identifier: BSD-3-Clause
// Files that `save` writes. The first line has a checksum of the others, by which an operator's edit is found.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "state/configuration.hpp"

namespace turnpike::sources {

[[nodiscard]] std::string saved_text(const state::configuration& in, std::string_view version);
/// Copies a file with an operator's edits, comments and order to FILE.old, before `save` replaces it. Returns whether it
/// made a copy: of no other file, and of nothing but a regular file.
/// remedy  how the operator may save otherwise; part of errors
/// Errors  the file cannot be read, or the copy not be written
[[nodiscard]] result<bool> back_up_operators_file(const std::string& file, std::string_view remedy);

}  // namespace turnpike::sources
