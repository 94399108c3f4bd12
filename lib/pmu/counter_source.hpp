// SPDX-License-Identifier: BSD-3-Clause
// Who counts: the kernel (perf_source.hpp), or a recording (replay_source.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "pmu/sysfs.hpp"
#include "pmu/user_counter.hpp"

namespace turnpike::pmu {

/// Whose: a CPU's whatever runs there, or a thread's wherever it runs. One of them is -1.
struct target {
    int cpu = -1;
    int thread = -1;
};

struct coded_event {
    std::string_view name;  ///< in the table
    encoding code{};
};

struct reading {
    uint64_t value = 0;
    uint64_t enabled_ns = 0;  ///< how long it was to be counted
    uint64_t running_ns = 0;  ///< how long it was
};

/// Events that are counted for the same time. It goes on until the group is destroyed.
class counter_group {
  public:
    virtual ~counter_group() = default;
    /// out  [events of the group], in their order
    [[nodiscard]] virtual result<void> read(std::span<reading> out) = 0;
    /// One of its events, for whoever runs on its CPU. Good as long as the group is there.
    /// Errors  ENOTSUP: only read() can
    [[nodiscard]] virtual result<user_counter> readable(size_t) const {
        return fail(ENOTSUP, "", "a recording is no counter of this CPU");
    }
};

class counter_source {
  public:
    virtual ~counter_source() = default;
    /// Errors  EACCES, EPERM: not permitted; ENOENT, ENODEV, EOPNOTSUPP, EINVAL: this CPU or kernel does
    ///         not count it; EMFILE...; each says what to do
    [[nodiscard]] virtual result<std::unique_ptr<counter_group>> open(
        const device& of, std::span<const coded_event> events, target whose) = 0;
};

}  // namespace turnpike::pmu
