// SPDX-License-Identifier: BSD-3-Clause
// What EAL knows of memory, for the device's translation.
#pragma once

#include <atomic>

#include "engine/memory.hpp"

namespace turnpike::simnic {

/// EAL's memory and what was registered with it, in PA and in VA mode.
[[nodiscard]] std::vector<memory_range> eal_memory();

/// Raised whenever EAL's memory comes or goes, from the first call on. Threads: control.
[[nodiscard]] const std::atomic<uint64_t>* eal_memory_generation() noexcept;

}  // namespace turnpike::simnic
