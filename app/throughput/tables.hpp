// SPDX-License-Identifier: BSD-3-Clause
// The result as tables for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace turnpike::throughput {

/// A member that is a number; else `otherwise`.
[[nodiscard]] double number_or(const nlohmann::json& of, const char* member, double otherwise);

/// How the tester's own latency was found; null: the result has no latency, or is of an earlier version.
[[nodiscard]] nlohmann::json tester_method_of(const nlohmann::json& result);

/// result  turnpike.throughput/1, complete or not
[[nodiscard]] std::string to_text(const nlohmann::json& result);

}  // namespace turnpike::throughput
