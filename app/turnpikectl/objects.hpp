// SPDX-License-Identifier: BSD-3-Clause
// Commands that change single objects and settings, as the request "change"; and those that send or fetch
// more than a request holds.
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

// The words of `g` are OBJECT VERB, its name, and then members: a word and its value each.
[[nodiscard]] result<nlohmann::json> change_route(const given& g);
[[nodiscard]] result<nlohmann::json> change_neighbour(const given& g);
[[nodiscard]] result<nlohmann::json> change_address(const given& g);
[[nodiscard]] result<nlohmann::json> change_port(const given& g);
[[nodiscard]] result<nlohmann::json> change_patch(const given& g);
[[nodiscard]] result<nlohmann::json> change_acl(const given& g);
[[nodiscard]] result<nlohmann::json> change_rule(const given& g);
/// set KEY VALUE
[[nodiscard]] result<nlohmann::json> change_setting(const given& g);

/// batch FILE: commands of those above, a line each, as one change
[[nodiscard]] result<nlohmann::json> change_many(const given& g);

/// Where the command has --confirm, the request has it too.
void add_confirm(const given& g, nlohmann::json& request);

/// routes FILE: its lines in parts, made together; the exit code.
int send_routes(const given& g);
/// save [FILE]: without one turnpike writes its own.
int save(const given& g);

}  // namespace turnpike::ctl
