// SPDX-License-Identifier: BSD-3-Clause
#include "control/eal/hugepages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>

namespace turnpike::control {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t default_page_bytes = 2u << 20;

/// The number after the prefix in "node3" or "hugepages-2048kB".
std::optional<uint64_t> number_after(const std::string& name, std::string_view prefix) {
    if (name.compare(0, prefix.size(), prefix) != 0) return std::nullopt;
    uint64_t value = 0;
    const char* begin = name.data() + prefix.size();
    const auto parsed = std::from_chars(begin, name.data() + name.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr == begin) return std::nullopt;
    return value;
}

uint64_t read_number(const fs::path& file) {
    uint64_t value = 0;
    std::ifstream(file) >> value;
    return value;
}

void add_pools(const fs::path& folder, unsigned node, std::vector<hugepage_pool>& into) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none))
        if (const auto kb = number_after(entry.path().filename(), "hugepages-"))
            into.push_back({node, *kb << 10, read_number(entry.path() / "free_hugepages")});
}

/// "2MB" of "hugetlb.2MB.max", in bytes.
std::optional<uint64_t> page_size_of(std::string_view name, std::string_view limit_suffix) {
    constexpr std::string_view prefix = "hugetlb.";
    if (!name.starts_with(prefix) || !name.ends_with(limit_suffix)) return std::nullopt;
    name.remove_prefix(prefix.size());
    uint64_t value = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), value);
    const std::string_view unit = name.substr(static_cast<size_t>(parsed.ptr - name.data()), 2);
    const unsigned shift = unit == "KB" ? 10 : unit == "MB" ? 20 : unit == "GB" ? 30 : 64;
    if (parsed.ec != std::errc() || value > 1024 || shift == 64) return std::nullopt;
    return value << shift;
}

/// Where a version of control groups has its files.
struct hierarchy {
    std::string_view key;  ///< in /proc/self/cgroup, before the group's path
    std::string_view folder;
    std::string_view limit, use;  ///< ends of file names; of rsvd files, the same
};
constexpr hierarchy hierarchies[] = {
    {"0::/", "sys/fs/cgroup", ".max", ".current"},
    {":hugetlb:/", "sys/fs/cgroup/hugetlb", ".limit_in_bytes", ".usage_in_bytes"},
};

void note_limit(const fs::path& file, uint64_t page_bytes, uint64_t free_bytes,
                std::vector<hugepage_limit>& into) {
    const auto known = std::find_if(into.begin(), into.end(),
                                    [&](const auto& l) { return l.page_bytes == page_bytes; });
    if (known == into.end())
        into.push_back({page_bytes, free_bytes, file});
    else if (free_bytes < known->free_bytes)
        *known = {page_bytes, free_bytes, file};
}

/// The limits of a group, and of the groups above it.
void add_limits(const fs::path& root, const hierarchy& h, const fs::path& group,
                std::vector<hugepage_limit>& into) {
    const fs::path top = root / h.folder;
    std::error_code none;
    for (fs::path at = group;; at = at.parent_path()) {
        for (const auto& entry : fs::directory_iterator(top / at, none)) {
            const std::string name = entry.path().filename();
            const auto page_bytes = page_size_of(name, h.limit);
            uint64_t limit = 0;
            // "max", or a number.
            if (!page_bytes || !(std::ifstream(entry.path()) >> limit)) continue;
            const std::string use = name.substr(0, name.size() - h.limit.size()).append(h.use);
            const uint64_t used = read_number(entry.path().parent_path() / use);
            note_limit("/" + entry.path().lexically_relative(root).string(), *page_bytes,
                       limit - std::min(limit, used), into);
        }
        if (at.empty()) return;
    }
}

uint64_t megabytes(uint64_t bytes) noexcept { return (bytes + (1u << 20) - 1) >> 20; }

}  // namespace

std::vector<hugepage_pool> hugepage_pools(const fs::path& root) {
    std::vector<hugepage_pool> pools;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(root / "sys/devices/system/node", none))
        if (const auto node = number_after(entry.path().filename(), "node"))
            add_pools(entry.path() / "hugepages", static_cast<unsigned>(*node), pools);
    if (pools.empty()) add_pools(root / "sys/kernel/mm/hugepages", 0, pools);
    return pools;
}

unsigned node_of_cpu(const fs::path& root, unsigned cpu) {
    std::error_code none;
    const fs::path folder = root / "sys/devices/system/cpu" / fmt::format("cpu{}", cpu);
    for (const auto& entry : fs::directory_iterator(folder, none))
        if (const auto node = number_after(entry.path().filename(), "node"))
            return static_cast<unsigned>(*node);
    return 0;
}

std::vector<hugepage_limit> hugepage_limits(const fs::path& root) {
    std::vector<hugepage_limit> out;
    std::ifstream groups(root / "proc/self/cgroup");
    for (std::string line; std::getline(groups, line);)
        for (const hierarchy& h : hierarchies)
            if (const size_t at = line.find(h.key); at != std::string::npos)
                add_limits(root, h, line.substr(at + h.key.size()), out);
    return out;
}

namespace {

std::string missing_pages(const std::vector<hugepage_pool>& pools, unsigned node, uint64_t bytes,
                          uint64_t free_bytes) {
    uint64_t page_bytes = default_page_bytes;
    const auto is_here = [&](const hugepage_pool& p) { return p.node == node; };
    const auto is_usual = [&](const hugepage_pool& p) {
        return is_here(p) && p.page_bytes == default_page_bytes;
    };
    // A kernel may have pages of other sizes only.
    if (std::none_of(pools.begin(), pools.end(), is_usual))
        if (const auto any = std::find_if(pools.begin(), pools.end(), is_here); any != pools.end())
            page_bytes = any->page_bytes;
    const uint64_t missing = (bytes - free_bytes + page_bytes - 1) / page_bytes;
    const std::string file =
        fmt::format("/sys/devices/system/node/node{}/hugepages/hugepages-{}kB/nr_hugepages", node,
                    page_bytes >> 10);
    return fmt::format(
        "node {} lacks {} hugepages of {} MB ({} MB are needed, {} MB are free). Reserve them "
        "with:\n"
        "    echo $(( $(cat {}) + {} )) > {}",
        node, missing, page_bytes >> 20, megabytes(bytes), free_bytes >> 20, file, missing, file);
}

}  // namespace

std::string hugepage_shortfall(const std::vector<hugepage_pool>& pools,
                               const std::vector<hugepage_limit>& limits, unsigned node,
                               uint64_t bytes) {
    uint64_t free_bytes = 0, allowed_bytes = 0;
    const hugepage_limit* tightest = nullptr;
    for (const hugepage_pool& pool : pools) {
        if (pool.node != node) continue;
        const uint64_t free = pool.free_pages * pool.page_bytes;
        free_bytes += free;
        const auto limit = std::find_if(limits.begin(), limits.end(), [&](const auto& l) {
            return l.page_bytes == pool.page_bytes;
        });
        if (limit == limits.end() || limit->free_bytes >= free) {
            allowed_bytes += free;
            continue;
        }
        allowed_bytes += limit->free_bytes;
        tightest = &*limit;
    }
    if (free_bytes < bytes) return missing_pages(pools, node, bytes, free_bytes);
    if (allowed_bytes >= bytes) return {};
    return fmt::format(
        "the process's control group has room for {} MB in hugepages, and {} MB are needed. Raise "
        "its limit with:\n    echo max > {}",
        allowed_bytes >> 20, megabytes(bytes), tightest->file);
}

}  // namespace turnpike::control
