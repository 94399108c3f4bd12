// SPDX-License-Identifier: BSD-3-Clause
// Real-time scheduling of the calling thread: no ordinary program preempts it while a trial sends.
#pragma once

#include <sched.h>

#include "base/result.hpp"

namespace turnpike::throughput {

class realtime_scope {
  public:
    realtime_scope() = default;
    realtime_scope(const realtime_scope&) = delete;
    realtime_scope& operator=(const realtime_scope&) = delete;
    ~realtime_scope() { leave(); }

    /// Enter SCHED_FIFO at its lowest priority.
    ///
    /// Errors  the kernel's: EPERM without CAP_SYS_NICE
    [[nodiscard]] result<void> enter();
    /// Restore the policy that the thread had.
    void leave() noexcept;

  private:
    bool entered_ = false;
    int policy_ = SCHED_OTHER;
    sched_param parameters_{};
};

}  // namespace turnpike::throughput
