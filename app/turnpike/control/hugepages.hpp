// SPDX-License-Identifier: BSD-3-Clause
// Hugepage check before EAL's start: EAL's own error names neither node nor remedy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace turnpike::control {

struct hugepage_pool {
    unsigned node;
    uint64_t page_bytes;
    uint64_t free_pages;
};

/// Every pool of every node, from sysfs (`root` is "/" except in tests).
[[nodiscard]] std::vector<hugepage_pool> hugepage_pools(const std::filesystem::path& root);

/// The NUMA node of a CPU; 0 if sysfs has none.
[[nodiscard]] unsigned node_of_cpu(const std::filesystem::path& root, unsigned cpu);

/// Empty if `bytes` fit into the free hugepages of `node`, else the shortage and the command that
/// reserves them.
[[nodiscard]] std::string hugepage_shortfall(const std::vector<hugepage_pool>& pools, unsigned node,
                                             uint64_t bytes);

}  // namespace turnpike::control
