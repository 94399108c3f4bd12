// SPDX-License-Identifier: BSD-3-Clause
// The metrics as text for Prometheus and compatible collectors, in two formats. Sources: "OpenMetrics 1.0"
// (https://prometheus.io/docs/specs/om/open_metrics_spec/), and Prometheus' "Text-based format" 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/).
#pragma once

#include <string>
#include <string_view>

#include "observe/inventory.hpp"

namespace turnpike::observe {

/// Rules of ACLs with more of the operator's have no samples: a collector stores one series per rule.
inline constexpr size_t max_listed_rules = 64;
/// As many, with turnpike's own in front of them: a list with more need not have its rules for the metrics.
inline constexpr size_t max_collected_rules = max_listed_rules + 2;

enum class exposition_format : uint8_t { prometheus_0_0_4, open_metrics_1_0 };

/// The value of Content-Type.
[[nodiscard]] std::string_view content_type(exposition_format f) noexcept;
/// The format for the value of Accept (RFC 9110 section 12.5.1): OpenMetrics if its quality is at least that of
/// text/plain, otherwise, and for an empty value, 0.0.4.
[[nodiscard]] exposition_format format_of(std::string_view accept) noexcept;

/// Threads  any: reads its arguments only.
[[nodiscard]] std::string to_exposition(const scraped& s, exposition_format f);

}  // namespace turnpike::observe
