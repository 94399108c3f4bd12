// SPDX-License-Identifier: BSD-3-Clause
// A thread's use of the kernel: system calls, counted and timed by a BPF program on the kernel's
// tracepoints, and CPU time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "base/result.hpp"

namespace turnpike::bench {

struct thread_use {
    uint64_t system_calls = 0;
    uint64_t kernel_ns = 0;  ///< in system calls
    uint64_t cpu_ns = 0;     ///< kernel and user
};

class tracer {
  public:
    /// Errors  the kernel lacks the tracepoints, or BPF on them
    [[nodiscard]] static result<std::unique_ptr<tracer>> open();
    ~tracer();
    /// Start tracing a thread of process `process`.
    void watch(pid_t process, pid_t thread);
    /// Values since watch(); cpu_ns: since the thread began.
    [[nodiscard]] thread_use read() const;

    /// The part of a system call that is counted neither as kernel time nor as the caller's: entry
    /// and exit, and the tracer. Measured with a system call that does nothing; call watch() before
    /// and after.
    [[nodiscard]] double crossing_ns();

  private:
    struct state;
    explicit tracer(std::unique_ptr<state> s);
    std::unique_ptr<state> state_;
};

}  // namespace turnpike::bench
