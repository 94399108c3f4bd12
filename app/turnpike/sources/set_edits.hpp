// SPDX-License-Identifier: BSD-3-Clause
// The edits `set` and `unset`: keys of one object, or settings.
#pragma once

#include "state/configuration.hpp"
#include "yaml/reader.hpp"

namespace turnpike::sources {

// Errors are thrown as yaml::complaint.

/// what  {OBJECT: {name, KEY: VALUE, ...}}, or settings as in a file
void edit_set(state::configuration& into, const yaml::reader& what);
/// what  {OBJECT: {name, keys: [...]}}, or {settings: {keys: [...]}}
void edit_unset(state::configuration& into, const yaml::reader& what);

}  // namespace turnpike::sources
