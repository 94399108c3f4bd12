// SPDX-License-Identifier: BSD-3-Clause
// What a thread asks of the kernel: its system calls, counted and timed by a BPF program on the kernel's
// tracepoints, and its time on a CPU.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "base/result.hpp"

namespace turnpike::bench {

struct thread_use {
    uint64_t system_calls = 0;
    uint64_t kernel_ns = 0;  ///< in them
    uint64_t cpu_ns = 0;     ///< kernel and user
};

class tracer {
  public:
    /// Errors  the kernel has no such tracepoints, or no BPF on them
    [[nodiscard]] static result<std::unique_ptr<tracer>> open();
    ~tracer();
    /// Watch a thread of process `process` from now on.
    void watch(pid_t process, pid_t thread);
    /// Since watch(); cpu_ns: since the thread began.
    [[nodiscard]] thread_use read() const;

    /// What of a system call is neither counted as in the kernel nor the caller's own: the way in and
    /// out, and the tracer. Measured with a system call that does nothing; watch() before and after.
    [[nodiscard]] double crossing_ns();

  private:
    struct state;
    explicit tracer(std::unique_ptr<state> s);
    std::unique_ptr<state> state_;
};

}  // namespace turnpike::bench
