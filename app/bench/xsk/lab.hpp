// SPDX-License-Identifier: BSD-3-Clause
// Test network of the AF_XDP benchmark: two veth pairs in a separate network namespace, and
// counters of their ends and of the CPUs.
//
//   generator -> source ==== west -> forwarder -> east ==== sink, whose kernel drops the frames
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace turnpike::bench {

/// Move this thread, and processes that it starts later, to a namespace that is removed when the
/// last of them ends.
///
/// Errors  EPERM: not root; errors of the kernel or of a command
[[nodiscard]] result<void> enter_lab();

inline constexpr const char *source = "source", *west = "west", *east = "east", *sink = "sink";

/// Frames that an interface has received. Requires  one of the four
uint64_t received(const std::string& interface);

/// Ticks of a CPU so far (1/100 s).
struct cpu_ticks {
    uint64_t busy = 0, all = 0;
    /// The busy share since `before`.
    [[nodiscard]] double busy_since(const cpu_ticks& before) const;
};
cpu_ticks ticks_of(unsigned cpu);

}  // namespace turnpike::bench
