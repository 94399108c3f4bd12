// SPDX-License-Identifier: BSD-3-Clause
// Opens files named by a client of the control socket with the client's rights instead of turnpike's. Otherwise an
// error message that quotes a line would disclose a file that the client cannot read.
#pragma once

#include <functional>

#include "base/result.hpp"
#include "sources/socket.hpp"

namespace turnpike::sources {

/// Runs `act` while the calling thread has the client's file access rights: its user and groups, without
/// CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH (credentials(7), capabilities(7)). For a root client nothing changes.
/// Without CAP_SETUID or CAP_SETGID the thread keeps turnpike's user or groups, and only drops these capabilities.
/// The thread's rights are restored also if `act` throws.
/// Errors   EPERM: capset() is forbidden; `act` did not run
/// Threads  any; other threads keep their rights
[[nodiscard]] result<void> with_file_access_of(const socket_peer& client,
                                               const std::function<void()>& act);

}  // namespace turnpike::sources
