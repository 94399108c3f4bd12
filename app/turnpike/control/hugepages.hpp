// SPDX-License-Identifier: BSD-3-Clause
// Are there hugepages enough, before EAL is asked? EAL's own answer names neither node nor remedy.
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

/// Every pool of every node, from sysfs (`root` is "/" but in tests).
[[nodiscard]] std::vector<hugepage_pool> hugepage_pools(const std::filesystem::path& root);

/// The node of an lcore; 0 where sysfs does not say.
[[nodiscard]] unsigned node_of_cpu(const std::filesystem::path& root, unsigned cpu);

/// Empty where `bytes` fit into the free hugepages of `node`, else what is missing and the command
/// that reserves it.
[[nodiscard]] std::string hugepage_shortfall(const std::vector<hugepage_pool>& pools, unsigned node,
                                             uint64_t bytes);

}  // namespace turnpike::control
