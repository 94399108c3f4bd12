// SPDX-License-Identifier: BSD-3-Clause
// Access lists as workers judge by them: compiled once, never changed, replaced whole.
#pragma once

#include <memory>
#include <vector>

#include "acl/acl.hpp"
#include "base/result.hpp"
#include "config/acl.hpp"
#include "cost/counter.hpp"

namespace turnpike::datapath {

/// A compiled list; the ports that it is bound to share it.
struct acl_list {
    std::unique_ptr<acl::classifier4> v4;
    std::unique_ptr<acl::classifier6> v6;
    uint32_t categories = 1;
    uint32_t default_hit = 0;  ///< config::acl_hit of the place behind the last rule
    uint64_t bytes = 0;        ///< of what workers read

    /// Errors  ENOMEM: it needs more than its memory_mb, or than there is; EINVAL: a rule is wrong
    [[nodiscard]] static result<std::shared_ptr<const acl_list>> compile(const config::acl_list& l);
};

/// Packets that a rule decided on, or counted.
struct acl_counter {
    cost::counter packets, bytes;
};

/// A list at one port, in one direction, and its counters: by worker (worker_plan::number), then by
/// the rule's place; the default's are behind the last rule's.
struct bound_acl {
    std::shared_ptr<const acl_list> list;
    std::vector<std::unique_ptr<acl_counter[]>> counters;
};

}  // namespace turnpike::datapath
