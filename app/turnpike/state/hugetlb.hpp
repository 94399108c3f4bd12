// SPDX-License-Identifier: BSD-3-Clause
// Hugepages that a process cannot have: files of control groups that limit them (the hugetlb controller, version 2 or 1), and
// pages reserved by mappings.
//   Source  Linux Documentation/admin-guide/cgroup-v2.rst, HugeTLB; cgroup-v1/hugetlb.rst; mm/hugetlbpage.rst
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::state {

/// A group's folder, and the ends of its files' names: "hugetlb.2MB.max", "hugetlb.2MB.rsvd.max".
struct hugetlb_group {
    std::string folder{};  ///< "/sys/fs/cgroup/a/b"
    std::string_view limit{}, use{};
};

/// The group of a process and the groups above it, the uppermost last, of both versions. A container may see its own group as
/// the uppermost one: folders without files have no limits.
/// text  of /proc/self/cgroup
[[nodiscard]] std::vector<hugetlb_group> hugetlb_groups(std::string_view text);

/// The page size of a limit's file, in bytes; nullopt: another file.
[[nodiscard]] std::optional<uint64_t> page_bytes_of(std::string_view name,
                                                    const hugetlb_group& group);

/// The free pages of a node that mappings have reserved and not accessed yet. The kernel counts these by page size, not by node:
/// the free pages of other nodes may serve them, too.
/// reserved, free  resv_hugepages and free_hugepages of /sys/kernel/mm/hugepages
/// free_here       free_hugepages of the node
[[nodiscard]] uint64_t reserved_pages(uint64_t reserved, uint64_t free,
                                      uint64_t free_here) noexcept;

/// "hugetlb.2MB.current" of "hugetlb.2MB.max".
[[nodiscard]] std::string use_file_of(std::string_view limit_file, const hugetlb_group& group);

}  // namespace turnpike::state
