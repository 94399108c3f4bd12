// SPDX-License-Identifier: BSD-3-Clause
// Changes of single objects, as an operator asks for them: a list of edits, made one after the other in
// a state of which validate() then says whether it can be. What an object's members are called, and what
// they may be, is as in the configuration file, and the same functions read them.
//
//   {"add": {"route": {"to": "10.9.0.0/16", "via": "10.0.2.2"}}}
//   {"del": {"address": {"port": "west", "address": "10.0.1.1/24"}}}
//   {"set": {"tx": {"drain_us": 20}}}
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "state/desired.hpp"

namespace turnpike::sources {

/// add: it must not be there; del: it must; replace: what is said replaces what was.
/// list    JSON, or YAML, of a list of edits
/// Errors  EINVAL, EEXIST, ENOENT with the edit's place in the list; `into` is then of no use
[[nodiscard]] result<void> edit(state::desired& into, std::string_view list);

}  // namespace turnpike::sources
