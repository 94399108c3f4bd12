// SPDX-License-Identifier: BSD-3-Clause
// ACLs of the configuration. All functions report errors by throwing yaml::complaint.
#pragma once

#include <vector>

#include "state/configuration.hpp"
#include "yaml/reader.hpp"

namespace turnpike::sources {

/// acl: all ACLs, with the rule files that they name.
void read_lists(const yaml::reader& from, state::configuration& into);
/// acl[]: one ACL; the given members replace members of an existing ACL with the same name.
void read_acl(const yaml::reader& from, state::configuration& into);
/// Extracts the configured rules of an ACL for editing; the ACL is empty until they are put back.
[[nodiscard]] std::vector<state::acl_rule> extract_rules(state::acl_list& list);
/// Sets the rules, enclosed by the implicit ones.
void put_rules(state::acl_list& list, std::vector<state::acl_rule> rules);
enum class list_edit { insert, exchange, erase };
/// Edits one rule. from  "rule", except to erase; "at", from 1, or the "name" of the existing rule, or both: "at" if no rule has
/// the name
/// l2  the ACL is an L2 ACL
void edit_rules(std::vector<state::acl_rule>& rules, const yaml::reader& from, list_edit how,
                bool l2);
/// The name of an ACL that is bound; null: none. Requires the ACLs to be read already.
std::string read_binding(const yaml::reader& from, const state::configuration& in);

}  // namespace turnpike::sources
