// SPDX-License-Identifier: BSD-3-Clause
// Estimates the cost of a built classifier: counts the kernel's steps for headers drawn from its
// rules, and for some random headers.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "acl/rule.hpp"

namespace turnpike::acl {

/// Keys for trials, words in host order with port classes: three quarters drawn from the rules, the
/// rest random; the same for the same rules. None for no rules. Threads any.
template <unsigned Words>
std::vector<std::array<uint32_t, Words>> trial_keys(std::span<const packed_rule<Words>> rules);

/// Modelled cycles per packet. Threads any.
template <unsigned Words>
double trial_cycles(const view& t, const std::vector<packed_rule<Words>>& rules);

}  // namespace turnpike::acl
