// SPDX-License-Identifier: BSD-3-Clause
#include "realtime.hpp"

#include <cerrno>

namespace turnpike::throughput {

result<void> realtime_scope::enter() {
    if (entered_) return {};
    const int policy = sched_getscheduler(0);
    const sched_param first{.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    if (policy < 0 || sched_getparam(0, &parameters_) != 0 ||
        sched_setscheduler(0, SCHED_FIFO, &first) != 0) {
        return fail(errno, "rate.realtime",
                    "the kernel refuses SCHED_FIFO, which needs CAP_SYS_NICE");
    }
    policy_ = policy;
    entered_ = true;
    return {};
}

void realtime_scope::leave() noexcept {
    if (!entered_) return;
    sched_setscheduler(0, policy_, &parameters_);
    entered_ = false;
}

}  // namespace turnpike::throughput
