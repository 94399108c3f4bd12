// SPDX-License-Identifier: BSD-3-Clause
// Access lists as yaml_acl.hpp reads them; yaml_writer.cpp's other half.
#pragma once

#include <string>

#include "state/acl.hpp"

namespace turnpike::sources {

/// A double-quoted scalar of YAML, whatever the text holds.
[[nodiscard]] std::string quoted(const std::string& text);

/// An element of "acl:", with its rules; turnpike's own are left out.
void add_list(std::string& out, const state::acl_list& list);

}  // namespace turnpike::sources
