// SPDX-License-Identifier: BSD-3-Clause
#include "hugepage_limits.hpp"

#include "state/hugetlb.hpp"

namespace turnpike::doctor {

std::vector<hugepage_limit> hugepage_limits(const machine& m) {
    std::vector<hugepage_limit> out;
    for (const state::hugetlb_group& g : state::hugetlb_groups(m.text("/proc/self/cgroup")))
        for (const std::string& name : m.names(g.folder)) {
            const std::string file = g.folder + "/" + name;
            const auto page_bytes = state::page_bytes_of(name, g);
            const auto limit = page_bytes ? m.number(file) : std::nullopt;
            if (!limit) continue;  // "max", or another file
            const auto used = m.number(g.folder + "/" + state::use_file_of(name, g));
            out.push_back({*page_bytes >> 10, *limit >> 10, used.value_or(0) >> 10, file});
        }
    return out;
}

}  // namespace turnpike::doctor
