// SPDX-License-Identifier: BSD-3-Clause
#include "control/hugepages.hpp"

#include <fmt/format.h>

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

std::string hugepage_shortfall(const std::vector<hugepage_pool>& pools, unsigned node,
                               uint64_t bytes) {
    uint64_t free_bytes = 0;
    constexpr uint64_t page_bytes = default_page_bytes;
    for (const auto& pool : pools)
        if (pool.node == node) free_bytes += pool.free_pages * pool.page_bytes;
    if (free_bytes >= bytes) return {};
    const uint64_t missing = (bytes - free_bytes + page_bytes - 1) / page_bytes;
    const std::string file =
        fmt::format("/sys/devices/system/node/node{}/hugepages/hugepages-{}kB/nr_hugepages", node,
                    page_bytes >> 10);
    return fmt::format(
        "node {} lacks {} hugepages of {} MB ({} MB are needed, {} MB are free). Reserve them "
        "with:\n"
        "    echo $(( $(cat {}) + {} )) > {}",
        node, missing, page_bytes >> 20, (bytes + (1u << 20) - 1) >> 20, free_bytes >> 20, file,
        missing, file);
}

}  // namespace turnpike::control
