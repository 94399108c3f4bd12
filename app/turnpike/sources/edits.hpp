// SPDX-License-Identifier: BSD-3-Clause
// Edits of single objects by an operator: a list of edits, applied in order to a configuration that
// validate() then checks. Members of objects have the names and values of the configuration file, and the
// same functions parse them.
//
//   {"add": {"route": {"to": "10.9.0.0/16", "via": "10.0.2.2"}}}
//   {"del": {"address": {"port": "west", "address": "10.0.1.1/24"}}}
//   {"set": {"tx": {"drain_us": 20}}}
//   {"set": {"interface": {"name": "west.100", "urpf": "strict"}}}
//   {"unset": {"port": {"name": "west", "keys": ["mtu", "acl.in"]}}}
//   {"unset": {"settings": {"keys": ["tx.drain_us"]}}}
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "state/configuration.hpp"

namespace turnpike::sources {

/// add: the object must not exist; del: it must; replace: sets the given members; set and unset: keys of existing ports
/// and interfaces, and set also settings.
/// list    JSON, or YAML, of a list of edits
/// Errors  EINVAL, EEXIST, ENOENT with the edit's position in the list; `into` is then unusable
[[nodiscard]] result<void> edit(state::configuration& into, std::string_view list);
/// The same without validation of the result.
[[nodiscard]] result<void> edit_unchecked(state::configuration& into, std::string_view list);

}  // namespace turnpike::sources
