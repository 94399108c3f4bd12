// SPDX-License-Identifier: BSD-3-Clause
#include "state/hugetlb.hpp"

#include <algorithm>
#include <charconv>

#include "base/next_piece.hpp"

namespace turnpike::state {
namespace {

/// Where a version of control groups has its files.
struct hierarchy {
    std::string_view controller;  ///< in a line "ID:CONTROLLERS:PATH" of /proc/self/cgroup
    std::string_view folder, limit, use;
};
constexpr hierarchy hierarchies[] = {
    {"", "/sys/fs/cgroup", ".max", ".current"},
    {"hugetlb", "/sys/fs/cgroup/hugetlb", ".limit_in_bytes", ".usage_in_bytes"},
};

bool has(std::string_view controllers, std::string_view one) {
    if (controllers.empty() || one.empty()) return controllers == one;
    while (!controllers.empty())
        if (next_piece(controllers, ',') == one) return true;
    return false;
}

}  // namespace

std::vector<hugetlb_group> hugetlb_groups(std::string_view text) {
    std::vector<hugetlb_group> out;
    while (!text.empty()) {
        std::string_view path = next_piece(text, '\n');
        next_piece(path, ':');
        const std::string_view controllers = next_piece(path, ':');
        if (path.empty() || path[0] != '/') continue;
        if (path == "/") path = {};
        for (const hierarchy& h : hierarchies) {
            if (!has(controllers, h.controller)) continue;
            for (std::string_view at = path;; at = at.substr(0, at.rfind('/'))) {
                out.push_back({std::string(h.folder).append(at), h.limit, h.use});
                if (at.empty()) break;
            }
        }
    }
    return out;
}

std::optional<uint64_t> page_bytes_of(std::string_view name, const hugetlb_group& group) {
    constexpr std::string_view prefix = "hugetlb.";
    if (!name.starts_with(prefix) || !name.ends_with(group.limit)) return std::nullopt;
    name.remove_prefix(prefix.size());
    uint64_t value = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), value);
    const std::string_view unit = name.substr(static_cast<size_t>(parsed.ptr - name.data()), 2);
    const unsigned shift = unit == "KB" ? 10 : unit == "MB" ? 20 : unit == "GB" ? 30 : 64;
    if (parsed.ec != std::errc() || value > 1024 || shift == 64) return std::nullopt;
    return value << shift;
}

uint64_t reserved_pages(uint64_t reserved, uint64_t free, uint64_t free_here) noexcept {
    const uint64_t free_elsewhere = free - std::min(free, free_here);
    return std::min(free_here, reserved - std::min(reserved, free_elsewhere));
}

std::string use_file_of(std::string_view limit_file, const hugetlb_group& group) {
    return std::string(limit_file.substr(0, limit_file.size() - group.limit.size()))
        .append(group.use);
}

}  // namespace turnpike::state
