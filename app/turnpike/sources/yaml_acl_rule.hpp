// SPDX-License-Identifier: BSD-3-Clause
// One entry of an access list: a rule as written in YAML, or a file of rules in ClassBench's form.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "config/reader.hpp"
#include "state/acl.hpp"

namespace turnpike::sources {

inline constexpr std::array<std::string_view, 8> tcp_flag_names = {
    "fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"};  ///< from bit 0 up

/// Whether what this protocol carries begins with ports.
[[nodiscard]] bool has_ports(uint8_t protocol) noexcept;

/// Throws complaint.
state::acl_rule read_acl_rule(const config::reader& from);
/// {action, file} or {action, lines}: one rule for each of the file's or block's lines, in their order. A
/// relative path is taken from the folder of `config_file`. Throws complaint.
std::vector<state::acl_rule> read_acl_file(const config::reader& from,
                                           const std::string& config_file);

}  // namespace turnpike::sources
