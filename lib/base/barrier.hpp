// SPDX-License-Identifier: BSD-3-Clause
// A fence that costs one side nothing: whoever calls everywhere() makes all running threads of all
// processes that registered themselves so pass a full fence.
// Source: membarrier(2), MEMBARRIER_CMD_GLOBAL_EXPEDITED (Linux 4.16).
#pragma once

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace turnpike::barrier {

inline bool membarrier(int command) noexcept {
    return syscall(__NR_membarrier, command, 0, 0) == 0;
}

/// This process registered itself when it loaded what includes this: everywhere() reaches its threads.
[[gnu::visibility("hidden")]] inline const bool available =
    membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);

/// False: the kernel refused. A few microseconds. Threads any.
inline bool everywhere() noexcept { return membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED); }

}  // namespace turnpike::barrier
