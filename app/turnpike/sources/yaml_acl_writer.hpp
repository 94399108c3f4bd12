// SPDX-License-Identifier: BSD-3-Clause
// Writes ACLs in the format of yaml_acl.hpp; part of yaml_writer.cpp.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sources/field.hpp"
#include "state/acl.hpp"

namespace turnpike::sources {

/// A double-quoted scalar of YAML and JSON with escapes.
[[nodiscard]] std::string quoted(const std::string& text);

/// The name of an IP protocol, as in a rule; its number if it has none.
[[nodiscard]] std::string protocol_text(uint8_t number);

/// The match conditions of a rule: keys, and values in YAML's form. Protocol masks, and ports without a protocol, are
/// only in ClassBench's format complete.
/// l2  the rule is in an L2 ACL
[[nodiscard]] std::vector<std::pair<std::string_view, std::string>> conditions(
    const state::acl_rule& r, bool l2);

/// A rule as an element of `rules`: "{action: deny, name: \"web\", destination_ports: 80}".
[[nodiscard]] std::string rule_text(const state::acl_rule& r, bool l2);

/// An element of "acl:" with its rules, without implicit ones.
void add_list(std::string& out, const state::acl_list& list, written_fields which);

}  // namespace turnpike::sources
