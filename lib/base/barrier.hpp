// SPDX-License-Identifier: BSD-3-Clause
// An asymmetric fence: everywhere() executes a full fence on all running threads of all registered
// processes, so that the other side needs none.
//
// Source: membarrier(2), MEMBARRIER_CMD_GLOBAL_EXPEDITED (Linux 4.16).
#pragma once

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace turnpike::barrier {

inline bool membarrier(int command) noexcept {
    return syscall(__NR_membarrier, command, 0, 0) == 0;
}

/// True if this process registered itself, at load time of the object that includes this header:
/// everywhere() then reaches its threads.
[[gnu::visibility("hidden")]] inline const bool available =
    membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);

/// Returns false if the kernel refuses. Takes a few microseconds. Threads any.
inline bool everywhere() noexcept { return membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED); }

}  // namespace turnpike::barrier
