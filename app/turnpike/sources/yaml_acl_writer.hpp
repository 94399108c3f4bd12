// SPDX-License-Identifier: BSD-3-Clause
// Writes ACLs in the format of yaml_acl.hpp; part of yaml_writer.cpp.
#pragma once

#include <string>

#include "state/acl.hpp"

namespace turnpike::sources {

/// A double-quoted YAML scalar with escapes.
[[nodiscard]] std::string quoted(const std::string& text);

/// An element of "acl:" with its rules, without implicit ones.
void add_list(std::string& out, const state::acl_list& list);

}  // namespace turnpike::sources
