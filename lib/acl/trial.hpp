// SPDX-License-Identifier: BSD-3-Clause
// What a built classifier would cost: the kernel's steps counted for headers drawn from its rules,
// and some that are not.
#pragma once

#include <vector>

#include "acl/rule.hpp"

namespace turnpike::acl {

/// Cycles per packet, by a model. Threads any.
template <unsigned Words>
double trial_cycles(const view& t, const std::vector<packed_rule<Words>>& rules);

}  // namespace turnpike::acl
