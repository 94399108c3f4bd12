// SPDX-License-Identifier: BSD-3-Clause
#include "hugepage_limits.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace turnpike::doctor {
namespace {

/// Where a version of control groups has its files.
struct hierarchy {
    std::string_view controller;  ///< in a line "ID:CONTROLLERS:PATH" of /proc/self/cgroup
    std::string_view folder;
    std::string_view limit, use;  ///< ends of file names; of rsvd files, the same
};
constexpr hierarchy hierarchies[] = {
    {"", "/sys/fs/cgroup", ".max", ".current"},
    {"hugetlb", "/sys/fs/cgroup/hugetlb", ".limit_in_bytes", ".usage_in_bytes"},
};

/// "2MB" of "hugetlb.2MB.max", in KB.
std::optional<uint64_t> page_kb_of(std::string_view name, std::string_view limit_suffix) {
    constexpr std::string_view prefix = "hugetlb.";
    if (!name.starts_with(prefix) || !name.ends_with(limit_suffix)) return std::nullopt;
    name.remove_prefix(prefix.size());
    uint64_t value = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), value);
    const std::string_view unit = name.substr(static_cast<size_t>(parsed.ptr - name.data()), 2);
    const unsigned shift = unit == "KB" ? 0 : unit == "MB" ? 10 : unit == "GB" ? 20 : 64;
    if (parsed.ec != std::errc() || value > 1024 || shift == 64) return std::nullopt;
    return value << shift;
}

/// The limits of a group, and of the groups above it. A container may see its group as the uppermost one: groups without
/// files have no limits.
void add_limits(const machine& m, const hierarchy& h, std::string group,
                std::vector<hugepage_limit>& into) {
    while (true) {
        const std::string folder = std::string(h.folder) + group;
        for (const std::string& name : m.names(folder)) {
            const auto page_kb = page_kb_of(name, h.limit);
            const auto limit = page_kb ? m.number(folder + "/" + name) : std::nullopt;
            if (!limit) continue;  // "max", or another file
            const std::string use = name.substr(0, name.size() - h.limit.size()).append(h.use);
            into.push_back({*page_kb, *limit >> 10, m.number(folder + "/" + use).value_or(0) >> 10,
                            folder + "/" + name});
        }
        if (group.empty()) return;
        group.resize(group.rfind('/'));
    }
}

}  // namespace

std::vector<hugepage_limit> hugepage_limits(const machine& m) {
    std::vector<hugepage_limit> out;
    for (const std::string& line : split(m.text("/proc/self/cgroup"), "\n")) {
        const size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const auto all = split(controllers, ",");
        std::string group = line.substr(second + 1);
        if (group.empty() || group[0] != '/') continue;
        if (group == "/") group.clear();
        for (const hierarchy& h : hierarchies)
            if (h.controller.empty() ? controllers.empty()
                                     : std::find(all.begin(), all.end(), h.controller) != all.end())
                add_limits(m, h, group, out);
    }
    return out;
}

}  // namespace turnpike::doctor
