// SPDX-License-Identifier: BSD-3-Clause
// Where the AF_XDP bench measures: two cables (veth pairs) in a network namespace of its own, and what
// their ends and the CPUs count.
//
//   generator -> source ==== west -> forwarder -> east ==== sink, whose kernel drops what is not for it
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace turnpike::bench {

/// This thread, and what it starts from now on, moves into a namespace that is gone with the last of
/// them, however that ends.
/// Errors  EPERM: not root; what the kernel or a command says
[[nodiscard]] result<void> enter_lab();

inline constexpr const char *source = "source", *west = "west", *east = "east", *sink = "sink";

/// Frames that an interface has received. Requires  one of the four
uint64_t received(const std::string& interface);

/// Ticks of a CPU so far (1/100 s).
struct cpu_ticks {
    uint64_t busy = 0, all = 0;
    /// The share that it was busy since `before`.
    [[nodiscard]] double busy_since(const cpu_ticks& before) const;
};
cpu_ticks ticks_of(unsigned cpu);

}  // namespace turnpike::bench
