// SPDX-License-Identifier: BSD-3-Clause
#include "barrier.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace turnpike::cache_aware::barrier {
namespace {

bool membarrier(int command) noexcept { return syscall(__NR_membarrier, command, 0, 0) == 0; }

}  // namespace

const bool available = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
bool everywhere() noexcept { return membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED); }

}  // namespace turnpike::cache_aware::barrier
