// SPDX-License-Identifier: BSD-3-Clause
// Estimates the cost of a built classifier: counts the kernel's steps for headers drawn from its
// rules, and for some random headers.
#pragma once

#include <vector>

#include "acl/rule.hpp"

namespace turnpike::acl {

/// Modelled cycles per packet. Threads any.
template <unsigned Words>
double trial_cycles(const view& t, const std::vector<packed_rule<Words>>& rules);

}  // namespace turnpike::acl
