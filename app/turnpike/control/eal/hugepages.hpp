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
    uint64_t free_pages;  ///< not reserved by mappings
};

/// Every pool of every node, from sysfs (`root` is "/" except in tests).
[[nodiscard]] std::vector<hugepage_pool> hugepage_pools(const std::filesystem::path& root);

/// Hugepages of one size that a control group and the groups above it leave to the process.
struct hugepage_limit {
    uint64_t page_bytes;
    uint64_t free_bytes;
    std::string file;  ///< of the group with the least room
};

/// The limits of the process's control groups (hugetlb controller, version 2 or 1); sizes without a limit are left out.
/// Beyond a limit, mmap() may succeed and the first access end the process by SIGBUS.
/// Source  Linux Documentation/admin-guide/cgroup-v2.rst, HugeTLB
[[nodiscard]] std::vector<hugepage_limit> hugepage_limits(const std::filesystem::path& root);

/// The NUMA node of a CPU; 0 if sysfs has none.
[[nodiscard]] unsigned node_of_cpu(const std::filesystem::path& root, unsigned cpu);

/// Empty if `bytes` fit into the free hugepages of `node` and into the limits, else the shortage and the command that
/// reserves hugepages or raises the limit.
[[nodiscard]] std::string hugepage_shortfall(const std::vector<hugepage_pool>& pools,
                                             const std::vector<hugepage_limit>& limits,
                                             unsigned node, uint64_t bytes);

}  // namespace turnpike::control
