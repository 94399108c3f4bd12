// SPDX-License-Identifier: BSD-3-Clause
// Keys of the configuration's objects: `OBJECT add NAME KEY VALUE`, `set OBJECT NAME KEY VALUE` and `unset OBJECT NAME KEY`. The keys, their types and
// meanings are rows of sources/fields.hpp.
#pragma once

#include "commands.hpp"
#include "sources/fields.hpp"

namespace turnpike::ctl {

/// OBJECT add|replace|del NAME [KEY VALUE]...
[[nodiscard]] result<nlohmann::json> change_object(const given& g);
[[nodiscard]] result<nlohmann::json> set_keys(const given& g);
/// set KEY VALUE [KEY VALUE]...: settings; their object is "settings"
[[nodiscard]] result<nlohmann::json> set_settings(const given& g);
[[nodiscard]] result<nlohmann::json> unset_settings(const given& g);
[[nodiscard]] result<nlohmann::json> unset_keys(const given& g);

/// The keys of an object of this kind ("port"); empty: a kind without keys.
[[nodiscard]] std::span<const sources::object_facts::entry> keys_of(std::string_view object);
/// The kind of object whose keys a command line has next; empty: none.
[[nodiscard]] std::string_view object_of(std::span<const std::string> words);
/// The values of a key in words: "68 to 65517 bytes".
[[nodiscard]] std::string values_text(const sources::value_type& type);
/// The row of a key; null: none. Also "acl_in" for "acl.in".
[[nodiscard]] const sources::field_facts* key_of(std::string_view object, std::string_view key);

}  // namespace turnpike::ctl
