// SPDX-License-Identifier: BSD-3-Clause
// Files that a client of the control socket names: opened with the client's rights, not with turnpike's. Otherwise an
// error that quotes a line would show the client a file that it cannot read.
#pragma once

#include <functional>

#include "base/result.hpp"
#include "sources/socket.hpp"

namespace turnpike::sources {

/// Run `act` while the calling thread opens files as the client would: with its user, its groups, and without
/// CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH (credentials(7), capabilities(7)). Of a client of root's nothing changes.
/// A turnpike without CAP_SETUID or CAP_SETGID keeps its own user or groups, and is without these capabilities.
/// Exceptions of `act` pass, with the thread's own rights restored.
/// Errors   EPERM: capset() is forbidden; `act` did not run
/// Threads  any; other threads keep their rights
[[nodiscard]] result<void> with_file_access_of(const socket_peer& client,
                                               const std::function<void()>& act);

}  // namespace turnpike::sources
