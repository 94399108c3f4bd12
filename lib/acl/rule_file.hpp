// SPDX-License-Identifier: BSD-3-Clause
// Rules in ClassBench's text form (Taylor and Turner 2007), one a line, the first with the highest
// priority: @SOURCE/LENGTH DESTINATION/LENGTH FIRST : LAST FIRST : LAST PROTOCOL/MASK [FLAGS/MASK]
// Addresses are IPv4 or IPv6, protocol and flags hexadecimal. Empty lines and # comments are
// ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "acl/rule.hpp"

namespace turnpike::acl {

struct rule_file {
    family kind = family::ipv4;
    /// Priority n down to 1, user data 1 up to n, category 0.
    std::vector<rule> rules;
    std::vector<unsigned> lines;  ///< line of each rule, for messages
};

/// text  the whole file; name: for messages
/// Errors  EINVAL: "NAME:LINE", the mistake and the accepted values; returns no rules
[[nodiscard]] result<rule_file> parse_rules(std::string_view text, const std::string& name);
/// Errors  of open() and read(); EINVAL as parse_rules()
[[nodiscard]] result<rule_file> read_rules(const std::string& path);

}  // namespace turnpike::acl
