// SPDX-License-Identifier: BSD-3-Clause
// Access lists of the configuration. All complain by throwing config::complaint.
#pragma once

#include <vector>

#include "config/reader.hpp"
#include "state/desired.hpp"

namespace turnpike::sources {

/// acl; files that lists name are read too.
void read_lists(const config::reader& from, state::desired& into);
/// acl[]: one list; where one of its name is there, what is said replaces what was.
void read_acl(const config::reader& from, state::desired& into);
/// The rules of a list that the operator wrote, to be edited; until they are put back it has none.
[[nodiscard]] std::vector<state::acl_rule> take_rules(state::acl_list& list);
void put_rules(state::acl_list& list, std::vector<state::acl_rule> rules);
enum class list_edit { insert, exchange, erase };
/// One of them. from  "rule", not to erase; "at", from 1, or the "name" of the one that is there
/// l2  the list is an L2 list
void edit_rules(std::vector<state::acl_rule>& rules, const config::reader& from, list_edit how,
                bool l2);
/// ports[].acl: the directions that it names; null: no list. Needs the lists read already.
void read_bindings(const state::desired& in, const config::reader& from, state::interface& into);

}  // namespace turnpike::sources
