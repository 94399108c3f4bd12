// SPDX-License-Identifier: BSD-3-Clause
// Commands that change single objects and settings, as the request "change".
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

// The words of `g` are OBJECT VERB NAME, then pairs of keyword and value.
[[nodiscard]] result<nlohmann::json> change_route(const given& g);
[[nodiscard]] result<nlohmann::json> change_address(const given& g);
[[nodiscard]] result<nlohmann::json> change_patch(const given& g);
[[nodiscard]] result<nlohmann::json> change_acl(const given& g);
[[nodiscard]] result<nlohmann::json> change_rule(const given& g);

/// batch FILE: commands above, one per line, as one transaction
[[nodiscard]] result<nlohmann::json> change_many(const given& g);

/// The elements of "a,b,c".
[[nodiscard]] nlohmann::json list_of(const std::string& text);

/// Copies --confirm and --comment into the request.
void add_change_options(const given& g, nlohmann::json& request);
/// A request "change", with these options.
[[nodiscard]] nlohmann::json change_request(const given& g, nlohmann::json changes);
/// The request of one change: {verb: object}.
[[nodiscard]] nlohmann::json change_request(const given& g, const std::string& verb,
                                            nlohmann::json object);

}  // namespace turnpike::ctl
