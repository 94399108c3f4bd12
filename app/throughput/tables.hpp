// SPDX-License-Identifier: BSD-3-Clause
// The result as tables for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace turnpike::throughput {

/// result  turnpike.throughput/1, complete or not
[[nodiscard]] std::string to_text(const nlohmann::json& result);

}  // namespace turnpike::throughput
