// SPDX-License-Identifier: BSD-3-Clause
// An asymmetric fence: everywhere() executes a full fence on all running threads of this process, so
// that the other side needs none. It reaches no thread of another process.
//
// MEMBARRIER_CMD_GLOBAL_EXPEDITED, which promises to reach other registered processes too, is not used:
// it misses threads, even of the caller's own process (doc/design/0025).
//
// Source: membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED (Linux 4.14).
#pragma once

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace turnpike::barrier {

inline bool membarrier(int command) noexcept {
    return syscall(__NR_membarrier, command, 0, 0) == 0;
}

inline bool register_process() noexcept {
    return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

/// True if this process registered itself, at load time of the object that includes this header:
/// everywhere() then reaches its threads.
[[gnu::visibility("hidden")]] inline const bool available = register_process();

/// A number that no other process has, by which processes tell their threads apart in shared memory (a
/// PID is not unique between PID namespaces). Never 0.
inline uint32_t new_identity() noexcept {
    uint32_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        number = static_cast<uint32_t>(now.tv_nsec) ^ static_cast<uint32_t>(getpid()) << 12;
    }
    return number | 1;
}

/// This process. A forked child is registered again, with a new number.
[[gnu::visibility("hidden")]] inline uint32_t process = new_identity();
[[gnu::visibility("hidden")]] inline const bool follows_forks =
    pthread_atfork(nullptr, nullptr, [] {
        process = new_identity();
        register_process();
    }) == 0;

/// Returns false if the kernel refuses. Takes a few microseconds. Threads any.
inline bool everywhere() noexcept { return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED); }

}  // namespace turnpike::barrier
