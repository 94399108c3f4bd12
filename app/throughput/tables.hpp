// SPDX-License-Identifier: BSD-3-Clause
// The result as tables for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace turnpike::throughput {

/// Members of a row of latency, in the order of the tables' columns.
constexpr const char* latency_figures[] = {"min_us",   "mean_us", "p50_us", "p90_us",   "p99_us",
                                           "p99_9_us", "max_us",  "pdv_us", "tester_us"};

/// A member that is a number; else `otherwise`.
[[nodiscard]] double number_or(const nlohmann::json& of, const char* member, double otherwise);

/// A figure with one decimal; "-": the member is no number.
[[nodiscard]] std::string decimal_or_dash(const nlohmann::json& of, const char* member);

/// The reason that a throughput is not the device's, such as "limited by the sender" or "irregular: max_load_lower"; empty: it is.
///
/// found  of RFC 2544's search, or a goal
[[nodiscard]] std::string throughput_remark(const nlohmann::json& found);

/// The remark on a row of latency: "no frame arrived", "does not count", lost frames, or empty.
[[nodiscard]] std::string latency_remark(const nlohmann::json& row);

/// "not recovered: 1 of 2 trials", of a system recovery or reset; empty: all trials have the flag, or the procedure has none.
[[nodiscard]] std::string trials_without(const nlohmann::json& times, const char* flag,
                                         const char* text);

/// How the tester's own latency was found; null: the result has no latency, or is of an earlier version.
[[nodiscard]] nlohmann::json tester_method_of(const nlohmann::json& result);

/// result  turnpike.throughput/1, complete or not
[[nodiscard]] std::string to_text(const nlohmann::json& result);

}  // namespace turnpike::throughput
