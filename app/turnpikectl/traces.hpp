// SPDX-License-Identifier: BSD-3-Clause
// The way of packets: commands `trace` and `explain`, and how a way is printed.
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

/// trace NUMBER [port PORT] [address ADDRESS] [dropped]
[[nodiscard]] result<nlohmann::json> trace(const given& g);
[[nodiscard]] std::string tracing(const given& g, const nlohmann::json& result);
/// explain PORT frame FRAME, or from ADDRESS to ADDRESS and what else there is to say
[[nodiscard]] result<nlohmann::json> explain(const given& g);
[[nodiscard]] std::string explained(const given& g, const nlohmann::json& result);
/// show trace
[[nodiscard]] std::string traces_text(const given& g, const nlohmann::json& result);

}  // namespace turnpike::ctl
