// SPDX-License-Identifier: BSD-3-Clause
// Paths of packets: commands `trace` and `explain`, and their output.
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

/// trace NUMBER [port PORT] [address ADDRESS] [dropped]
[[nodiscard]] result<nlohmann::json> trace(const given& g);
[[nodiscard]] std::string tracing(const given& g, const nlohmann::json& result);
/// explain INTERFACE frame FRAME, from ADDRESS to ADDRESS with options, or --pcap FILE:N
[[nodiscard]] result<nlohmann::json> explain(const given& g);
[[nodiscard]] std::string explained(const given& g, const nlohmann::json& result);
/// show trace
[[nodiscard]] std::string traces_text(const given& g, const nlohmann::json& result);

}  // namespace turnpike::ctl
