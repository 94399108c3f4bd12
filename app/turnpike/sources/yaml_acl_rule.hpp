// SPDX-License-Identifier: BSD-3-Clause
// One entry of an access list: a rule as written in YAML, or a file of rules in ClassBench's form.
#pragma once

#include <vector>

#include "config/reader.hpp"
#include "state/acl.hpp"

namespace turnpike::sources {

/// Throws complaint.
state::acl_rule read_acl_rule(const config::reader& from);
/// {action, file}: one rule for each of the file's, in its order. A relative path is taken from the
/// folder of `config_file`. Throws complaint.
std::vector<state::acl_rule> read_acl_file(const config::reader& from,
                                           const std::string& config_file);

}  // namespace turnpike::sources
