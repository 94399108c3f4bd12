// SPDX-License-Identifier: BSD-3-Clause
// Files of control groups that limit a process's hugepages: the hugetlb controller, version 2 or 1.
//   Source  Linux Documentation/admin-guide/cgroup-v2.rst, HugeTLB; cgroup-v1/hugetlb.rst
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

/// "hugetlb.2MB.current" of "hugetlb.2MB.max".
[[nodiscard]] std::string use_file_of(std::string_view limit_file, const hugetlb_group& group);

}  // namespace turnpike::state
