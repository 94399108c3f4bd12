// SPDX-License-Identifier: BSD-3-Clause
// EAL's memory ranges, for the device's address translation.
#pragma once

#include <atomic>

#include "engine/memory.hpp"

namespace turnpike::simnic {

/// EAL's memory and memory registered with it, in PA and in VA mode, and mapped memory.
[[nodiscard]] std::vector<memory_range> eal_memory();

/// Map memory of the application for all devices (rte_dev_dma_map()). Threads: any
///
/// Errors  -1 and rte_errno, ENOMEM
int map_memory(const memory_range& range) noexcept;
/// Undo one map_memory() of the same range. Threads: any
///
/// Errors  -1 and rte_errno, EINVAL: it is not mapped
int unmap_memory(const memory_range& range) noexcept;

/// Incremented whenever EAL adds or removes memory, from the first call on, and with every mapping. Threads: control.
[[nodiscard]] const std::atomic<uint64_t>* eal_memory_generation() noexcept;

}  // namespace turnpike::simnic
