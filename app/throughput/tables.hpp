// SPDX-License-Identifier: BSD-3-Clause
// The result as tables for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace turnpike::throughput {

/// A member that is a number; else `otherwise`.
[[nodiscard]] double number_or(const nlohmann::json& of, const char* member, double otherwise);

/// result  turnpike.throughput/1, complete or not
[[nodiscard]] std::string to_text(const nlohmann::json& result);

}  // namespace turnpike::throughput
