// SPDX-License-Identifier: BSD-3-Clause
// The limits of the process's control groups on hugepages (state/hugetlb.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine.hpp"

namespace turnpike::doctor {

/// One group's limit on pages of one size.
struct hugepage_limit {
    uint64_t page_kb = 0, limit_kb = 0, used_kb = 0;
    std::string file{};
};

/// The limits of the process's group and of the groups above it; "max" is left out. Beyond a limit, mmap() may succeed and
/// the first access end the process by SIGBUS.
[[nodiscard]] std::vector<hugepage_limit> hugepage_limits(const machine& m);

}  // namespace turnpike::doctor
