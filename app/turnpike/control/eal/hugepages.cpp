// SPDX-License-Identifier: BSD-3-Clause
#include "control/eal/hugepages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>

#include "state/hugetlb.hpp"

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

/// all  the folder with the pools of all nodes
void add_pools(const fs::path& folder, const fs::path& all, unsigned node,
               std::vector<hugepage_pool>& into) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
        const fs::path name = entry.path().filename();
        const auto kb = number_after(name, "hugepages-");
        if (!kb) continue;
        const uint64_t free = read_number(entry.path() / "free_hugepages");
        const uint64_t reserved =
            state::reserved_pages(read_number(all / name / "resv_hugepages"),
                                  read_number(all / name / "free_hugepages"), free);
        into.push_back({node, *kb << 10, free - reserved});
    }
}

void note_limit(const fs::path& file, uint64_t page_bytes, uint64_t free_bytes,
                std::vector<hugepage_limit>& into) {
    const auto known = std::find_if(into.begin(), into.end(),
                                    [&](const auto& l) { return l.page_bytes == page_bytes; });
    if (known == into.end())
        into.push_back({page_bytes, free_bytes, file});
    else if (free_bytes < known->free_bytes)
        *known = {page_bytes, free_bytes, file};
}

uint64_t megabytes(uint64_t bytes) noexcept { return (bytes + (1u << 20) - 1) >> 20; }

}  // namespace

std::vector<hugepage_pool> hugepage_pools(const fs::path& root) {
    std::vector<hugepage_pool> pools;
    const fs::path all = root / "sys/kernel/mm/hugepages";
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(root / "sys/devices/system/node", none))
        if (const auto node = number_after(entry.path().filename(), "node"))
            add_pools(entry.path() / "hugepages", all, static_cast<unsigned>(*node), pools);
    if (pools.empty()) add_pools(all, all, 0, pools);
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
    std::ostringstream groups;
    groups << std::ifstream(root / "proc/self/cgroup").rdbuf();
    for (const state::hugetlb_group& g : state::hugetlb_groups(groups.str())) {
        const fs::path folder = root / g.folder.substr(1);
        std::error_code none;
        for (const auto& entry : fs::directory_iterator(folder, none)) {
            const std::string name = entry.path().filename();
            const auto page_bytes = state::page_bytes_of(name, g);
            uint64_t limit = 0;
            // "max", or a number.
            if (!page_bytes || !(std::ifstream(entry.path()) >> limit)) continue;
            const uint64_t used = read_number(folder / state::use_file_of(name, g));
            note_limit(g.folder + "/" + name, *page_bytes, limit - std::min(limit, used), out);
        }
    }
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
