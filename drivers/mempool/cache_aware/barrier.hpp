// SPDX-License-Identifier: BSD-3-Clause
// A fence that costs one side nothing: whoever calls everywhere() makes all running threads of all
// processes that loaded this plug-in pass a full fence.
// Source: membarrier(2), MEMBARRIER_CMD_GLOBAL_EXPEDITED (Linux 4.16).
#pragma once

namespace turnpike::cache_aware::barrier {

/// This process registered itself when the plug-in was loaded: everywhere() reaches its threads.
[[gnu::visibility("hidden")]] extern const bool available;
/// False: the kernel refused. A few microseconds. Threads any.
bool everywhere() noexcept;

}  // namespace turnpike::cache_aware::barrier
