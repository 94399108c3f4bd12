// SPDX-License-Identifier: BSD-3-Clause
// A seccomp filter of system calls, for the time after the start (seccomp(2), libseccomp). It denies calls that turnpike never
// makes while it forwards and that an attacker with code in the process would use: for other programs, other processes' memory, kernel
// modules, mounts, clocks, keys, other user ids. The systemd unit has an allow list beside it, which must also permit the
// start.
//
// A denied call fails with EPERM. Calls without a rule cost nothing more: the kernel caches the answer by number (since 5.11).
#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"

namespace turnpike::control {

/// Names of the denied calls.
[[nodiscard]] std::span<const std::string_view> denied_syscalls() noexcept;

/// Filters the system calls of all threads of the process, for the rest of its life, and sets PR_SET_NO_NEW_PRIVS.
/// Errors  ENOSYS: a kernel without seccomp, or a sanitizer, which needs ptrace(2); else the kernel's. Nothing is filtered then
[[nodiscard]] result<void> deny_syscalls();

}  // namespace turnpike::control
