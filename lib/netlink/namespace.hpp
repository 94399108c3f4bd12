// SPDX-License-Identifier: BSD-3-Clause
// Opens files and sockets in another network namespace. The process stays in its namespace: a
// helper thread enters the other one, opens the objects and ends; the objects belong to that
// namespace permanently.
#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"

namespace turnpike::netlink {

/// Run a function in a namespace of `ip netns add NAME`; an empty name: in the current one.
///
/// Threads  any; `act` runs on a helper thread
/// Errors   ENOENT, EPERM, ... of the namespace, with a remedy; EAGAIN: no helper thread; errors of `act`
[[nodiscard]] result<void> in_namespace(const std::string& name,
                                        const std::function<result<void>()>& act);

}  // namespace turnpike::netlink
