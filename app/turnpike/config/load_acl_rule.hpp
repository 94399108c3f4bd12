// SPDX-License-Identifier: BSD-3-Clause
// One entry of an access list: a rule as written in YAML, or a file of rules in ClassBench's form.
#pragma once

#include <vector>

#include "config/acl.hpp"
#include "config/reader.hpp"

namespace turnpike::config {

/// Throws complaint.
acl_rule read_acl_rule(const reader& from);
/// {action, file}: one rule for each of the file's, in its order. A relative path is taken from the
/// folder of `config_file`. Throws complaint.
std::vector<acl_rule> read_acl_file(const reader& from, const std::string& config_file);

}  // namespace turnpike::config
