// SPDX-License-Identifier: BSD-3-Clause
// EAL's memory ranges, for the device's address translation.
#pragma once

#include <atomic>

#include "engine/memory.hpp"

namespace turnpike::simnic {

/// EAL's memory and memory registered with it, in PA and in VA mode.
[[nodiscard]] std::vector<memory_range> eal_memory();

/// Incremented whenever EAL adds or removes memory, from the first call on. Threads: control.
[[nodiscard]] const std::atomic<uint64_t>* eal_memory_generation() noexcept;

}  // namespace turnpike::simnic
