// SPDX-License-Identifier: BSD-3-Clause
#include "cpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>

namespace turnpike::throughput {
namespace {

namespace fs = std::filesystem;

std::string line_at(const fs::path& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

std::optional<unsigned long> number_at(const fs::path& file) {
    const std::string text = line_at(file);
    unsigned long n = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (code != std::errc() || end == text.data()) return {};
    return n;
}

fs::path of_cpu(const fs::path& folder, unsigned cpu) {
    return folder / ("cpu" + std::to_string(cpu));
}

result<void> write_khz(const fs::path& file, unsigned long khz) {
    std::FILE* const out = std::fopen(file.c_str(), "we");
    if (out == nullptr) return fail(errno, file.string(), "cannot be written");
    const bool written = std::fprintf(out, "%lu\n", khz) > 0;
    // The kernel refuses a value in write(2), which fclose() calls.
    if (std::fclose(out) != 0 || !written)
        return fail(errno, file.string(), fmt::format("the kernel refuses {} kHz", khz));
    return {};
}

std::vector<unsigned> list_at(const fs::path& file) {
    return parse_cpu_list(line_at(file)).value_or(std::vector<unsigned>());
}

}  // namespace

result<std::vector<unsigned>> parse_cpu_list(std::string_view text) {
    constexpr unsigned max_cpu = 65'535;
    std::vector<unsigned> out;
    const error bad{EINVAL, {}, "should be a list of CPUs, such as 1,3 or 2-5"};
    const auto read = [&text](unsigned& n) {
        const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), n);
        text.remove_prefix(static_cast<size_t>(end - text.data()));
        return code == std::errc() && n <= max_cpu;
    };
    while (!text.empty()) {
        unsigned first = 0, last = 0;
        if (!read(first)) return tl::unexpected<error>(bad);
        last = first;
        if (text.starts_with('-')) {
            text.remove_prefix(1);
            if (!read(last) || last < first) return tl::unexpected<error>(bad);
        }
        for (unsigned n = first; n <= last; ++n) out.push_back(n);
        if (text.empty()) break;
        if (!text.starts_with(',') || text.size() == 1) return tl::unexpected<error>(bad);
        text.remove_prefix(1);
    }
    return out;
}

std::string cpu_list_text(const std::vector<unsigned>& cpus) {
    return fmt::format("{}", fmt::join(cpus, ","));
}

std::vector<unsigned> isolated_cpus(const fs::path& folder) {
    constexpr const char* partitions = "../../../fs/cgroup/cpuset.cpus.isolated";
    std::vector<unsigned> out = list_at(folder / "isolated");
    const std::vector<unsigned> more = list_at((folder / partitions).lexically_normal());
    out.insert(out.end(), more.begin(), more.end());
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

bool are_isolated(const std::vector<unsigned>& cpus, const fs::path& folder) {
    const std::vector<unsigned> isolated = isolated_cpus(folder);
    return !cpus.empty() && std::ranges::all_of(cpus, [&](unsigned cpu) {
        return std::ranges::binary_search(isolated, cpu);
    });
}

std::vector<unsigned> default_cpus(const fs::path& folder) {
    const std::vector<unsigned> isolated = isolated_cpus(folder);
    if (!isolated.empty()) return isolated;
    std::vector<unsigned> all = list_at(folder / "online"),
                          first = list_at(of_cpu(folder, 0) / "topology/thread_siblings_list");
    if (first.empty()) first = {0};
    std::erase_if(all, [&](unsigned cpu) { return std::ranges::find(first, cpu) != first.end(); });
    return all;
}

std::vector<std::vector<unsigned>> cores_of(const std::vector<unsigned>& cpus,
                                            const fs::path& folder) {
    const std::vector<unsigned> online = list_at(folder / "online");
    std::vector<std::vector<unsigned>> cores;
    std::vector<std::string> names;  // of the cores: all their siblings
    for (const unsigned cpu : cpus) {
        if (std::ranges::find(online, cpu) == online.end()) continue;
        std::string name = line_at(of_cpu(folder, cpu) / "topology/thread_siblings_list");
        if (name.empty()) name = std::to_string(cpu);
        const auto at = std::ranges::find(names, name);
        if (at == names.end()) {
            names.push_back(std::move(name));
            cores.push_back({cpu});
        } else {
            cores[static_cast<size_t>(at - names.begin())].push_back(cpu);
        }
    }
    return cores;
}

std::string why_not_at(const std::vector<unsigned>& cpus, unsigned mhz, const fs::path& folder) {
    for (const unsigned cpu : cpus) {
        const fs::path policy = of_cpu(folder, cpu) / "cpufreq";
        const auto least = number_at(policy / "cpuinfo_min_freq"),
                   most = number_at(policy / "cpuinfo_max_freq");
        if (!least || !most)
            return "this machine gives no control of CPU frequencies (no cpufreq policy)";
        if (mhz * 1000ul < *least || mhz * 1000ul > *most)
            return fmt::format("CPU {} runs at {} to {} MHz, not at {}", cpu, *least / 1000,
                               *most / 1000, mhz);
    }
    return {};
}

result<frequency_scope> frequency_scope::enter(const std::vector<unsigned>& cpus, unsigned mhz,
                                               const fs::path& folder) {
    frequency_scope scope;
    for (const unsigned cpu : cpus) {
        const fs::path policy = of_cpu(folder, cpu) / "cpufreq";
        const auto least = number_at(policy / "scaling_min_freq"),
                   most = number_at(policy / "scaling_max_freq");
        if (!least || !most) return fail(ENOENT, policy.string(), "has no limits of frequencies");
        scope.before_.push_back({policy, *least, *most});
        if (auto done = set({policy, mhz * 1000ul, mhz * 1000ul}); !done)
            return tl::unexpected<error>(done.error());
    }
    return scope;
}

result<void> frequency_scope::set(const limits& l) {
    const fs::path least = l.policy / "scaling_min_freq", most = l.policy / "scaling_max_freq";
    // The minimum may not exceed the maximum at any time.
    const bool rises = l.max_khz >= number_at(most).value_or(0);
    for (const bool is_max : {rises, !rises})
        if (auto done = write_khz(is_max ? most : least, is_max ? l.max_khz : l.min_khz); !done)
            return done;
    if (number_at(least) != l.min_khz || number_at(most) != l.max_khz)
        return fail(EIO, l.policy.string(),
                    fmt::format("the kernel keeps other limits than {} kHz", l.max_khz));
    return {};
}

frequency_scope::~frequency_scope() {
    // Policies that CPUs share were saved again after their change: the first is restored last.
    for (auto l = before_.rbegin(); l != before_.rend(); ++l) (void)set(*l);
}

}  // namespace turnpike::throughput
