// SPDX-License-Identifier: BSD-3-Clause
// Hugepages, transparent hugepages, limits.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "examine.hpp"
#include "hugepage_limits.hpp"
#include "state/hugetlb.hpp"

namespace turnpike::doctor {
namespace {

constexpr uint64_t kb_of_small_pages = 2048;
constexpr uint64_t wanted_pages = 512;  ///< 1 GB: a pool of 16,384 buffers, a full table and EAL
constexpr uint64_t needed_kb = wanted_pages * kb_of_small_pages / 2;

struct pool {
    std::string folder{};
    uint64_t page_kb = 0, total = 0, free = 0;
    uint64_t held = 0;      ///< by a running turnpike
    uint64_t reserved = 0;  ///< free pages of mappings that have not accessed them yet
};

/// Pages of a running turnpike.
/// node  "node0"; "machine": of all nodes
uint64_t held_by_turnpike(const machine& m, const std::string& node, uint64_t page_kb) {
    uint64_t out = 0;
    for (const std::string& line : split(m.text(machine::turnpike_hugepages), "\n")) {
        const auto words = split(line, " ");
        if (words.size() != 3 || words[1] != std::to_string(page_kb)) continue;
        uint64_t pages = 0;
        std::from_chars(words[2].data(), words[2].data() + words[2].size(), pages);
        if (words[0] == node || node == "machine") out += pages;
    }
    return out;
}

/// name  "hugepages-2048kB"
uint64_t reserved_of(const machine& m, const std::string& name, uint64_t free_here) {
    const std::string all = "/sys/kernel/mm/hugepages/" + name;
    return state::reserved_pages(m.number(all + "/resv_hugepages").value_or(0),
                                 m.number(all + "/free_hugepages").value_or(0), free_here);
}

/// node  "node0", or "machine"
std::vector<pool> pools_in(const machine& m, const std::string& node) {
    const std::string folder = node == "machine"
                                   ? "/sys/kernel/mm/hugepages"
                                   : "/sys/devices/system/node/" + node + "/hugepages";
    std::vector<pool> out;
    for (const std::string& name : m.names(folder)) {
        constexpr std::string_view prefix = "hugepages-";
        uint64_t kb = 0;
        if (name.compare(0, prefix.size(), prefix) != 0) continue;
        std::from_chars(name.data() + prefix.size(), name.data() + name.size(), kb);
        const std::string at = folder + "/" + name;
        const uint64_t free = m.number(at + "/free_hugepages").value_or(0);
        out.push_back({at, kb, m.number(at + "/nr_hugepages").value_or(0), free,
                       held_by_turnpike(m, node, kb), reserved_of(m, name, free)});
    }
    return out;
}

std::string size_text(uint64_t kb) {
    return kb >= 1u << 20   ? fmt::format("{} GB", kb >> 20)
           : kb >= 1u << 10 ? fmt::format("{} MB", kb >> 10)
                            : fmt::format("{} KB", kb);
}

/// The nodes of the lcores; without a plan, all nodes with CPUs; {"machine"} if there are none.
std::vector<std::string> nodes_of(const machine& m, const plan& p) {
    std::vector<std::string> out;
    for (const std::string& name : m.names("/sys/devices/system/node")) {
        if (name.compare(0, 4, "node") != 0) continue;
        const auto cpus = parse_list(m.text("/sys/devices/system/node/" + name + "/cpulist"));
        const bool used = std::any_of(p.cpus.begin(), p.cpus.end(),
                                      [&](unsigned c) { return cpus.count(c) != 0; });
        if (p.cpus.empty() ? !cpus.empty() : used) out.push_back(name);
    }
    if (out.empty()) out.emplace_back("machine");
    return out;
}

/// Sums over the pools of a node.
struct node_memory {
    uint64_t total_kb = 0, reserved_kb = 0;
    uint64_t usable_kb = 0;  ///< free and unreserved, or turnpike's, which a start frees before
    std::string text{};
};

node_memory memory_of(const std::vector<pool>& pools) {
    node_memory out;
    for (const pool& one : pools) {
        out.total_kb += one.total * one.page_kb;
        out.reserved_kb += one.reserved * one.page_kb;
        out.usable_kb += std::min(one.total, one.free - one.reserved + one.held) * one.page_kb;
        if (one.total == 0) continue;
        out.text += fmt::format("{}{} of {} pages of {} free", out.text.empty() ? "" : ", ",
                                one.free, one.total, size_text(one.page_kb));
        if (one.reserved > 0)
            out.text +=
                fmt::format(", {} of these reserved by mappings (resv_hugepages)", one.reserved);
        if (one.held > 0) out.text += fmt::format(" and {} in use by turnpike", one.held);
    }
    return out;
}

/// The command and the change that reserve pages of 2 MB until `wanted_pages` are usable.
void add_reservation(const std::vector<pool>& pools, uint64_t usable_kb, diagnosis& f) {
    const auto small = std::find_if(pools.begin(), pools.end(),
                                    [](const pool& q) { return q.page_kb == kb_of_small_pages; });
    if (small != pools.end()) {
        const std::string file = small->folder + "/nr_hugepages";
        const uint64_t pages =
            small->total + wanted_pages - std::min(wanted_pages, usable_kb / kb_of_small_pages);
        f.remedy.push_back(fmt::format("echo {} > {}", pages, file));
        f.changes.push_back({file, std::to_string(small->total), std::to_string(pages)});
    }
    f.remedy.push_back(
        "at each boot: HUGEPAGES in /etc/default/turnpike, or hugepages=N on the kernel's command "
        "line");
}

severity level_of_missing(const plan& p) {
    return p.hugepages == hugepage_use::required ? severity::error : severity::warning;
}

void judge_node(const machine& m, const plan& p, const std::string& node,
                const std::vector<pool>& pools, std::vector<diagnosis>& out) {
    const node_memory memory = memory_of(pools);
    if (memory.usable_kb >= needed_kb) {
        out.push_back({.subject = node, .text = memory.text});
        return;
    }
    const auto in_use = m.read(machine::turnpike_hugepages);
    const bool is_counted = in_use && in_use->find("unread") == std::string::npos;
    if (memory.total_kb - memory.reserved_kb >= needed_kb && !is_counted) {
        out.push_back(
            {.level = severity::note,
             .subject = node,
             .text = memory.text + "; pages in use were not counted, and may be turnpike's",
             .reason = "turnpike needs some 512 MB, more with many ports",
             .remedy = {"run as root beside turnpike; if other programs use the pages, reserve "
                        "more in nr_hugepages"}});
        return;
    }
    diagnosis f{
        .level = memory.total_kb == 0 ? level_of_missing(p) : severity::warning,
        .subject = node,
        .text = memory.total_kb == 0
                    ? "no hugepages are reserved"
                    : memory.text + ": turnpike needs some 512 MB, more with many ports",
        .reason =
            "packet buffers and tables are in hugepages; without them, each packet costs TLB "
            "misses"};
    add_reservation(pools, memory.usable_kb, f);
    out.push_back(std::move(f));
}

/// Memory in pages of one size, within the limits of the control groups.
struct allowance {
    uint64_t total_kb = 0, allowed_kb = 0;
    uint64_t unused_kb = 0;                    ///< free within each limit
    const hugepage_limit* tightest = nullptr;  ///< nullptr: no group has a limit below the total
};

allowance allowance_of(uint64_t page_kb, const std::vector<pool>& pools,
                       const std::vector<hugepage_limit>& limits) {
    allowance out;
    uint64_t held_kb = 0;
    for (const pool& one : pools) {
        if (one.page_kb != page_kb) continue;
        out.total_kb += one.total * page_kb;
        held_kb += one.held * page_kb;
    }
    out.allowed_kb = out.unused_kb = out.total_kb;
    for (const hugepage_limit& limit : limits) {
        if (limit.page_kb != page_kb) continue;
        const uint64_t used_kb = limit.used_kb - std::min(limit.used_kb, held_kb);
        out.unused_kb = std::min(out.unused_kb, limit.limit_kb - std::min(limit.limit_kb, used_kb));
        if (limit.limit_kb >= out.allowed_kb) continue;
        out.allowed_kb = limit.limit_kb;
        out.tightest = &limit;
    }
    return out;
}

/// "2Mi" of hugepages-2Mi, a resource of Kubernetes.
std::string kubernetes_size(uint64_t kb) {
    return kb >= 1u << 20   ? fmt::format("{}Gi", kb >> 20)
           : kb >= 1u << 10 ? fmt::format("{}Mi", kb >> 10)
                            : fmt::format("{}Ki", kb);
}

/// The limits of control groups: a page beyond one ends the process by SIGBUS, not by an error. A size that a pod does not
/// ask for has the limit 0: only the sum of the sizes counts.
void judge_cgroup(const machine& m, const plan& p, const std::vector<pool>& pools,
                  std::vector<diagnosis>& out) {
    const auto limits = hugepage_limits(m);
    std::set<uint64_t> sizes;
    for (const pool& one : pools) sizes.insert(one.page_kb);
    uint64_t total_kb = 0, allowed_kb = 0, unused_kb = 0;
    diagnosis f{.subject = "cgroup"};
    std::string where;
    for (const uint64_t kb : sizes) {
        const allowance a = allowance_of(kb, pools, limits);
        total_kb += a.total_kb;
        allowed_kb += a.allowed_kb;
        unused_kb += a.unused_kb;
        if (a.tightest == nullptr) continue;
        where += fmt::format("{}at most {} MB in pages of {} by {}", where.empty() ? "" : ", ",
                             a.tightest->limit_kb >> 10, size_text(kb), a.tightest->file);
        f.remedy.push_back(fmt::format("echo max > {}", a.tightest->file));
        f.remedy.push_back(
            fmt::format("in Kubernetes: resources.limits.hugepages-{}", kubernetes_size(kb)));
    }
    if (where.empty()) return;
    f.text = where;
    if (allowed_kb < needed_kb && allowed_kb < total_kb) {
        f.level = level_of_missing(p);
        f.text += ": turnpike needs some 512 MB";
        f.reason = "a page beyond the limit ends the program by SIGBUS";
    } else if (unused_kb < needed_kb && unused_kb < total_kb) {
        f.level = severity::note;
        f.text += fmt::format(": all but {} MB are in use", unused_kb >> 10);
        f.reason = "turnpike needs some 512 MB; what it uses itself was not counted";
    } else {
        f.remedy.clear();
    }
    out.push_back(std::move(f));
}

}  // namespace

void check_hugepages(const machine& m, const plan& p, std::vector<diagnosis>& out) {
    if (p.hugepages == hugepage_use::none) {
        out.push_back({.level = severity::note,
                       .subject = "EAL options",
                       .text = "--no-huge: turnpike uses no hugepages, and none are judged",
                       .reason = "without hugepages, each packet costs TLB misses",
                       .remedy = {"eal: {args: ...} without --no-huge; eal: {hugepages: optional} "
                                  "uses hugepages if there are enough"}});
        return;
    }
    std::vector<pool> all;
    for (const std::string& node : nodes_of(m, p)) {
        const auto pools = pools_in(m, node);
        judge_node(m, p, node, pools, out);
        all.insert(all.end(), pools.begin(), pools.end());
    }
    judge_cgroup(m, p, all, out);
    if (m.text("/proc/mounts").find(" hugetlbfs ") == std::string::npos)
        out.push_back(
            {.level = severity::note,
             .subject = "hugetlbfs",
             .text = "no hugetlbfs is mounted: turnpike needs none, unless its EAL options name "
                     "--file-prefix or --huge-dir; other DPDK programs need --in-memory",
             .remedy = {"mount -t hugetlbfs nodev /dev/hugepages"}});
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
