// SPDX-License-Identifier: BSD-3-Clause
// Interface to counters: the kernel's (perf_source.hpp), or a recording (replay_source.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "pmu/sysfs.hpp"
#include "pmu/user_counter.hpp"

namespace turnpike::pmu {

/// The counting context: a CPU with any thread, or a thread on any CPU. One of the members is -1.
struct target {
    int cpu = -1;
    int thread = -1;
};

struct coded_event {
    std::string_view name;  ///< name in the table
    encoding code{};
};

struct reading {
    uint64_t value = 0;
    uint64_t enabled_ns = 0;  ///< time the counter was enabled
    uint64_t running_ns = 0;  ///< time the counter ran
};

/// Events counted over the same time. Counting ends when the group is destroyed.
class counter_group {
  public:
    virtual ~counter_group() = default;
    /// out  [events of the group], in their order
    [[nodiscard]] virtual result<void> read(std::span<reading> out) = 0;
    /// One event of the group, for user-space reads on its CPU. Valid as long as the group exists.
    ///
    /// Errors  ENOTSUP: only read() is available
    [[nodiscard]] virtual result<user_counter> readable(size_t) const {
        return fail(ENOTSUP, "", "a recording has no counter to read on this CPU");
    }
};

class counter_source {
  public:
    virtual ~counter_source() = default;
    /// Errors  EACCES, EPERM: not permitted; ENOENT, ENODEV, EOPNOTSUPP, EINVAL: this CPU or kernel does
    ///         not support it; EMFILE...; each with a remedy
    [[nodiscard]] virtual result<std::unique_ptr<counter_group>> open(
        const device& of, std::span<const coded_event> events, target whose) = 0;
};

}  // namespace turnpike::pmu
