// SPDX-License-Identifier: BSD-3-Clause
// Commands whose data exceeds one request.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "commands.hpp"
#include "connection.hpp"

namespace turnpike::ctl {

/// routes FILE: sends the lines in parts, applied as one transaction. Returns the exit code.
int send_routes(const given& g);
/// save [FILE]: without FILE, turnpike writes its startup file.
int save(const given& g);
/// The running configuration on standard output.
int show_running(const given& g);

/// The result of a request; otherwise prints the error, by the words of the command, and sets the exit code.
std::optional<nlohmann::json> result_of(connection& c, const nlohmann::json& request, int& code,
                                        const given& g = {});
/// The running configuration as a file; otherwise prints the error and sets the exit code.
std::optional<std::string> running_text(connection& c, int& code);
/// A request with the file's text and, as its name, the absolute path.
result<nlohmann::json> file_request(const std::string& name, const std::string& file);

}  // namespace turnpike::ctl
