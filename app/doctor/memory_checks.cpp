// SPDX-License-Identifier: BSD-3-Clause
// Hugepages, transparent hugepages, limits.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "examine.hpp"

namespace turnpike::doctor {
namespace {

constexpr uint64_t kb_of_small_pages = 2048;
constexpr uint64_t wanted_pages = 512;  ///< 1 GB: a pool of 16,384 buffers, a full table and EAL

struct pool {
    std::string folder{};
    uint64_t page_kb = 0, total = 0, free = 0;
};

std::vector<pool> pools_in(const machine& m, const std::string& folder) {
    std::vector<pool> out;
    for (const std::string& name : m.names(folder)) {
        constexpr std::string_view prefix = "hugepages-";
        uint64_t kb = 0;
        if (name.compare(0, prefix.size(), prefix) != 0) continue;
        std::from_chars(name.data() + prefix.size(), name.data() + name.size(), kb);
        const std::string at = folder + "/" + name;
        out.push_back({at, kb, m.number(at + "/nr_hugepages").value_or(0),
                       m.number(at + "/free_hugepages").value_or(0)});
    }
    return out;
}

std::string size_text(uint64_t kb) {
    return kb >= 1u << 20 ? fmt::format("{} GB", kb >> 20) : fmt::format("{} MB", kb >> 10);
}

/// The nodes of the lcores; without a plan, all nodes.
std::vector<std::string> nodes_of(const machine& m, const plan& p) {
    std::vector<std::string> out;
    for (const std::string& name : m.names("/sys/devices/system/node")) {
        if (name.compare(0, 4, "node") != 0) continue;
        const auto cpus = parse_list(m.text("/sys/devices/system/node/" + name + "/cpulist"));
        const bool used = std::any_of(p.cpus.begin(), p.cpus.end(),
                                      [&](unsigned c) { return cpus.count(c) != 0; });
        if (p.cpus.empty() || used) out.push_back(name);
    }
    return out;
}

void judge_node(const plan& p, const std::string& node, const std::vector<pool>& pools,
                std::vector<diagnosis>& out) {
    uint64_t total_kb = 0, free_kb = 0;
    std::string held;
    for (const pool& one : pools) {
        total_kb += one.total * one.page_kb;
        free_kb += one.free * one.page_kb;
        if (one.total > 0)
            held += fmt::format("{}{} of {} pages of {} free", held.empty() ? "" : ", ", one.free,
                                one.total, size_text(one.page_kb));
    }
    if (free_kb >= wanted_pages * kb_of_small_pages / 2) {
        out.push_back({.subject = node, .text = held});
        return;
    }
    diagnosis f{
        .level = total_kb == 0 && p.hugepages_required ? severity::error : severity::warning,
        .subject = node,
        .text = total_kb == 0 ? "no hugepages are reserved"
                              : held + ": turnpike needs some 512 MB, more with many ports",
        .reason =
            "packet buffers and tables are in hugepages; without them, each packet costs TLB "
            "misses"};
    const auto small = std::find_if(pools.begin(), pools.end(),
                                    [](const pool& q) { return q.page_kb == kb_of_small_pages; });
    if (small != pools.end()) {
        const std::string file = small->folder + "/nr_hugepages";
        const uint64_t pages = small->total + wanted_pages;
        f.remedy.push_back(fmt::format("echo {} > {}", pages, file));
        f.changes.push_back({file, std::to_string(small->total), std::to_string(pages)});
    }
    f.remedy.push_back(
        "at each boot: HUGEPAGES in /etc/default/turnpike, or hugepages=N on the kernel's command "
        "line");
    out.push_back(std::move(f));
}

/// The limit of the cgroup: a page beyond it ends the process by SIGBUS, not by an error.
void judge_cgroup(const machine& m, std::vector<diagnosis>& out) {
    const std::string line = m.text("/proc/self/cgroup");
    for (const std::string& entry : split(line, "\n")) {
        if (entry.compare(0, 3, "0::") != 0) continue;
        for (const auto& [size, kb] :
             {std::pair{"2MB", uint64_t{2048}}, std::pair{"1GB", uint64_t{1} << 20}}) {
            const std::string folder =
                "/sys/fs/cgroup" + (entry == "0::/" ? std::string() : entry.substr(3));
            const auto limit = m.number(fmt::format("{}/hugetlb.{}.max", folder, size));
            if (!limit) continue;  // "max", or no controller
            const bool enough = *limit >= wanted_pages * kb_of_small_pages * 1024 / 2;
            out.push_back(
                {.level = enough ? severity::ok : severity::error,
                 .subject = "cgroup",
                 .text = fmt::format("at most {} MB in pages of {}", *limit >> 20, size_text(kb)),
                 .reason = enough ? "" : "a page beyond the limit ends the program by SIGBUS",
                 .remedy = enough ? std::vector<std::string>{}
                                  : std::vector<std::string>{
                                        fmt::format("raise hugetlb.{}.max of {}", size, folder),
                                        "in Kubernetes: resources.limits.hugepages-2Mi"}});
        }
    }
}

}  // namespace

void check_hugepages(const machine& m, const plan& p, std::vector<diagnosis>& out) {
    const auto nodes = nodes_of(m, p);
    for (const std::string& node : nodes)
        judge_node(p, node, pools_in(m, "/sys/devices/system/node/" + node + "/hugepages"), out);
    if (nodes.empty()) judge_node(p, "machine", pools_in(m, "/sys/kernel/mm/hugepages"), out);
    judge_cgroup(m, out);
    if (m.text("/proc/mounts").find(" hugetlbfs ") == std::string::npos)
        out.push_back(
            {.level = severity::note,
             .subject = "hugetlbfs",
             .text = "no hugetlbfs is mounted: EAL needs --in-memory",
             .remedy = {
                 "eal: {args: \"--in-memory ...\"}, or mount -t hugetlbfs nodev /dev/hugepages"}});
}

void check_thp(const machine& m, const plan&, std::vector<diagnosis>& out) {
    const std::string file = "/sys/kernel/mm/transparent_hugepage/enabled";
    const std::string mode = m.text(file);
    if (mode.find("[always]") == std::string::npos) {
        if (!mode.empty()) out.push_back({.subject = "transparent hugepages", .text = mode});
        return;
    }
    out.push_back(
        {.level = severity::note,
         .subject = "transparent hugepages",
         .text = "always: the kernel merges pages of running programs",
         .reason =
             "khugepaged moves memory of control while it runs, which delays it by milliseconds",
         .remedy = {"echo madvise > " + file},
         .changes = {{file, mode, "madvise"}}});
}

void check_limits(const machine& m, const plan&, std::vector<diagnosis>& out) {
    for (const std::string& line : split(m.text("/proc/self/limits"), "\n")) {
        constexpr std::string_view locked = "Max locked memory";
        if (line.compare(0, locked.size(), locked) != 0) continue;
        const auto words = split(std::string_view(line).substr(locked.size()), " ");
        if (words.empty()) continue;
        uint64_t bytes = 0;
        const bool limited = words[0] != "unlimited";
        if (limited) std::from_chars(words[0].data(), words[0].data() + words[0].size(), bytes);
        constexpr uint64_t enough = 1u << 30;
        const bool low = limited && bytes < enough;
        out.push_back(
            {.level = low ? severity::note : severity::ok,
             .subject = "locked memory",
             .text =
                 limited ? fmt::format("at most {} MB may be locked", bytes >> 20) : "unlimited",
             .reason =
                 low ? "AF_XDP and vfio lock packet memory; CAP_IPC_LOCK or root is exempt" : "",
             .remedy =
                 low ? std::vector<
                           std::string>{"LimitMEMLOCK=infinity in the unit, or ulimit -l unlimited"}
                     : std::vector<std::string>{}});
    }
}

}  // namespace turnpike::doctor
