// SPDX-License-Identifier: BSD-3-Clause
// Files and sockets of another network namespace. The process stays where it is: a thread goes there, opens
// what is wanted, and ends; what it opened belongs to that namespace for good.
#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"

namespace turnpike::netlink {

/// Do something in a namespace that `ip netns add NAME` made; an empty name: in our own.
/// Threads  any; `act` runs on one of its own
/// Errors   ENOENT, EPERM, ... of the namespace, with what to do; those of `act`
[[nodiscard]] result<void> in_namespace(const std::string& name,
                                        const std::function<result<void>()>& act);

}  // namespace turnpike::netlink
