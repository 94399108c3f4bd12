// SPDX-License-Identifier: BSD-3-Clause
// Keys of the configuration's objects: `set OBJECT NAME KEY VALUE` and `unset OBJECT NAME KEY`. The keys, their types and
// meanings are rows of sources/fields.hpp.
#pragma once

#include "commands.hpp"
#include "sources/fields.hpp"

namespace turnpike::ctl {

[[nodiscard]] result<nlohmann::json> set_keys(const given& g);
/// set KEY VALUE: a setting; its object is "settings"
[[nodiscard]] result<nlohmann::json> set_setting(const given& g);
[[nodiscard]] result<nlohmann::json> unset_settings(const given& g);
[[nodiscard]] result<nlohmann::json> unset_keys(const given& g);

/// The keys of an object of this kind ("port"); empty: a kind without keys.
[[nodiscard]] std::span<const sources::object_facts::entry> keys_of(std::string_view object);
/// The row of a key; null: none. Also "acl_in" for "acl.in".
[[nodiscard]] const sources::field_facts* key_of(std::string_view object, std::string_view key);

}  // namespace turnpike::ctl
