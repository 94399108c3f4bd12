// SPDX-License-Identifier: BSD-3-Clause
#include "control/eal/eal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_config.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <future>
#include <string_view>
#include <thread>

#include "base/owned_fd.hpp"
#include "control/eal/eal_log.hpp"
#include "control/eal/hugepages.hpp"
#include "control/forwarding/packet_pool.hpp"
#include "observe/console.hpp"
#include "rxtx/pci_devices.hpp"
#include "state/lcores.hpp"

namespace turnpike::control {
namespace {

/// One name for the spellings of an option.
std::string_view family(std::string_view option) {
    option = option.substr(0, option.find('='));
    constexpr std::string_view lcores[] = {"-c", "-l", "--lcores"};
    constexpr std::string_view allow[] = {"-a", "--allow", "-b", "--block"};
    constexpr std::string_view huge[] = {"--no-huge", "--huge-dir", "--single-file-segments"};
    const auto in = [&](const auto& set) {
        return std::find(std::begin(set), std::end(set), option) != std::end(set);
    };
    if (in(lcores)) return lcores[0];
    if (in(allow)) return allow[0];
    if (in(huge)) return huge[0];
    // "-l0-1": a short option with its value attached
    if (option.size() > 2 && option[0] == '-' && option[1] != '-')
        return family(option.substr(0, 2));
    return option;
}

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

/// Hugepage memory that turnpike needs: the mbuf pool, and EAL's and the drivers' own. A generous
/// estimate: the check explains a shortage, and need not be exact.
uint64_t bytes_needed(const state::configuration& config, uint32_t workers) {
    constexpr uint64_t per_buffer_overhead = 128 + 128;  // rte_mbuf, mempool header, private area
    constexpr uint64_t of_eal_and_drivers = 32u << 20;
    constexpr uint64_t of_route_tables = 16u
                                         << 20;  // a few routes; a full table needs as much again
    constexpr uint64_t per_neighbour = 256;
    const bool routes =
        std::any_of(config.interfaces.begin(), config.interfaces.end(),
                    [](const auto& i) { return i.second.kind == state::interface_kind::routed; });
    const uint64_t buffer = config.fixed.pool.buffer_size + per_buffer_overhead;
    return uint64_t{buffers_for(config, workers)} *
               (buffer + buffer / 25) +  // padding: lib/cache's max_overhead
           of_eal_and_drivers +
           (routes ? of_route_tables + config.limits.limit * per_neighbour : 0);
}

bool given(const std::vector<std::string>& options, std::string_view name) {
    return std::any_of(options.begin(), options.end(), [&](const std::string& word) {
        return std::string_view(word).substr(0, word.find('=')) == name;
    });
}

/// Default lcores: all CPUs of the process's affinity.
std::vector<unsigned> cpus_allowed() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
    std::vector<unsigned> out;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set)) out.push_back(cpu);
    return out;
}

/// An address without a device: EAL then probes no PCI device at its start, and later the ones it is asked to.
constexpr std::string_view no_pci_device = "ffff:ff:1f.7";

/// rte_eal_init(), without the 90 lines of usage that it prints to standard output for a wrong option.
int init_without_usage(int argc, char** argv) {
    const bool help = std::any_of(argv, argv + argc, [](const char* word) {
        return std::string_view(word) == "-h" || std::string_view(word) == "--help";
    });
    if (help) return rte_eal_init(argc, argv);  // exits
    std::fflush(stdout);
    const owned_fd before(::dup(STDOUT_FILENO)), text(::memfd_create("eal", MFD_CLOEXEC));
    const bool captures =
        before.get() >= 0 && text.get() >= 0 && ::dup2(text.get(), STDOUT_FILENO) >= 0;
    const int code = rte_eal_init(argc, argv);
    if (!captures) return code;
    std::fflush(stdout);
    ::dup2(before.get(), STDOUT_FILENO);
    std::string printed(static_cast<size_t>(std::max<off_t>(0, ::lseek(text.get(), 0, SEEK_END))),
                        '\0');
    printed.resize(static_cast<size_t>(
        std::max<ssize_t>(0, ::pread(text.get(), printed.data(), printed.size(), 0))));
    if (code < 0) printed.resize(std::min(printed.find("\nUsage: "), printed.size()));
    std::fputs(printed.c_str(), stdout);
    return code;
}

result<void> check_hugepages(const state::configuration& config,
                             std::vector<std::string>& options) {
    if (given(options, "--no-huge")) return {};
    const std::vector<unsigned> lcores = state::cpus_of_lcores(options);
    const std::vector<unsigned> affinity = cpus_allowed();
    const unsigned node = node_of_cpu("/", state::cpu_of_main(options, affinity));
    const uint64_t bytes = bytes_needed(config, workers_expected(config, lcores, affinity));
    const std::string shortfall =
        hugepage_shortfall(hugepage_pools("/"), hugepage_limits("/"), node, bytes);
    if (shortfall.empty()) return {};
    if (!config.fixed.eal_options.hugepages_optional)
        return fail(ENOMEM, "hugepages",
                    shortfall +
                        "\nor start without hugepages, slower, with 'eal: {hugepages: "
                        "optional}' in the configuration");
    observe::log(observe::log_level::warning, "hugepages: " + shortfall);
    observe::log(observe::log_level::warning, "starting without hugepages (hugepages: optional)");
    // EAL rejects --no-huge with --in-memory; --no-shconf avoids files as well.
    std::erase(options, "--in-memory");
    options.insert(options.end(), {"--no-huge", "--no-shconf"});
    if (!given(options, "-m")) {
        options.emplace_back("-m");
        options.push_back(std::to_string(2 * (bytes >> 20)));
    }
    return {};
}

/// EAL keeps a descriptor of each 2 MB page (--in-memory, get_seg_memfd()): the usual soft limit of 1,024 ends at 2 GB, and tables
/// that grow take the last ones from clients, TAPs and sockets. Nothing here uses select().
void raise_descriptor_limit() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

std::vector<std::string> merge_eal_options(const std::vector<std::string>& file,
                                           const std::vector<std::string>& command) {
    std::vector<std::string> merged;
    bool keep = true;
    for (const std::string& word : file) {
        if (is_option(word))
            keep = std::none_of(command.begin(), command.end(), [&](const std::string& other) {
                return is_option(other) && family(other) == family(word);
            });
        if (keep) merged.push_back(word);
    }
    merged.insert(merged.end(), command.begin(), command.end());
    return merged;
}

void allow_only_configured(std::vector<std::string>& options, const state::configuration& config) {
    for (const std::string& word : options) {
        if (!is_option(word)) continue;
        for (const std::string_view chosen : {"-a", "--no-pci"})
            if (family(word) == chosen) return;
    }
    std::vector<std::string> devices;
    for (const auto& [name, p] : config.ports) devices.push_back(p.device);
    // Members in the arguments of a virtual device.
    devices.insert(devices.end(), options.begin(), options.end());
    std::vector<std::string> allowed = rxtx::pci_devices_in(devices);
    if (allowed.empty()) allowed.emplace_back(no_pci_device);
    for (std::string& device : allowed) {
        options.emplace_back("-a");
        options.push_back(std::move(device));
    }
}

void prefer_in_memory(std::vector<std::string>& options) {
    constexpr std::string_view decisions[] = {"--in-memory", "--no-huge",     "--no-shconf",
                                              "--huge-dir",  "--huge-unlink", "--file-prefix",
                                              "--proc-type", "--legacy-mem"};
    if (std::ranges::none_of(decisions, [&](std::string_view one) { return given(options, one); }))
        options.emplace_back("--in-memory");
}

uint32_t workers_expected(const state::configuration& config, const std::vector<unsigned>& lcores,
                          const std::vector<unsigned>& affinity) {
    if (!config.workers.empty()) return static_cast<uint32_t>(config.workers.size());
    // EAL has no lcore for the CPUs above (rte_eal_cpu_init()).
    const auto has_lcore = [](unsigned cpu) { return cpu < RTE_MAX_LCORE; };
    const auto all = lcores.empty() ? std::count_if(affinity.begin(), affinity.end(), has_lcore)
                                    : static_cast<ptrdiff_t>(lcores.size());
    return static_cast<uint32_t>(std::max<ptrdiff_t>(all, 2) - 1);
}

result<void> check_lcores(const std::vector<std::string>& options, const std::string& root) {
    std::string online;
    std::getline(std::ifstream(root + "/sys/devices/system/cpu/online") >> std::ws, online);
    const std::vector<unsigned> there = state::cpus_of_list(online);
    if (there.empty()) return {};
    std::vector<unsigned> missing = state::cpus_of_lcores(options);
    std::erase_if(missing, [&](unsigned cpu) {
        return std::find(there.begin(), there.end(), cpu) != there.end();
    });
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
    if (missing.empty()) return {};
    return fail(
        EINVAL, "EAL",
        fmt::format("lcores on CPU {}, which this machine lacks: it has CPUs {}; change -l, "
                    "--lcores or -c",
                    fmt::join(missing, ", "), online));
}

bool may_use(unsigned cpu) {
    // The thread sleeps meanwhile, and needs no time on the CPU, which a real-time thread may keep busy.
    std::promise<pid_t> id;
    std::promise<void> end;
    std::thread sleeper([&] {
        id.set_value(::gettid());
        end.get_future().wait();
    });
    const pid_t thread = id.get_future().get();
    cpu_set_t before, only;
    CPU_ZERO(&before);
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    const bool has_before = sched_getaffinity(thread, sizeof before, &before) == 0;
    const bool refused = sched_setaffinity(thread, sizeof only, &only) != 0 && errno == EINVAL;
    if (has_before) (void)sched_setaffinity(thread, sizeof before, &before);
    end.set_value();
    sleeper.join();
    return !refused;
}

result<void> check_cpuset(const std::vector<std::string>& options,
                          const std::function<bool(unsigned)>& permits) {
    std::vector<unsigned> refused;
    // An lcore of several CPUs needs only one of them; lcores_of() has the first.
    for (const state::lcore& one : state::lcores_of(options))
        if (!one.has_more_cpus && !permits(one.cpu)) refused.push_back(one.cpu);
    if (refused.empty()) return {};
    return fail(EINVAL, "EAL",
                fmt::format("lcores on CPU {}, which this process's control group does not permit "
                            "(cpuset); leave -l, --lcores or -c out, and EAL takes the CPUs that "
                            "it permits, or let the group have them (AllowedCPUs= of a unit)",
                            fmt::join(refused, ", ")));
}

result<void> check_workers(const state::configuration& config,
                           const std::vector<std::string>& options, const std::string& root) {
    std::string online;
    std::getline(std::ifstream(root + "/sys/devices/system/cpu/online") >> std::ws, online);
    const std::string fault = state::worker_fault(config.workers, options, online);
    if (fault.empty()) return {};
    return fail(EINVAL, config.workers_where.text, "workers " + fault);
}

result<void> check_eal(const state::configuration& config,
                       const std::vector<std::string>& command) {
    const std::vector<std::string> options =
        merge_eal_options(config.fixed.eal_options.args, command);
    if (auto checked = check_lcores(options, "/"); !checked) return checked;
    if (auto checked = check_cpuset(options); !checked)
        observe::log(observe::log_level::warning,
                     checked.error().text + "; the group of a service may permit them");
    return check_workers(config, options, "/");
}

result<void> start_eal(const state::configuration& config,
                       const std::vector<std::string>& command) {
    std::vector<std::string> options = merge_eal_options(config.fixed.eal_options.args, command);
    if (auto checked = check_lcores(options, "/"); !checked) return checked;
    if (auto checked = check_cpuset(options); !checked) return checked;
    prefer_in_memory(options);
    raise_descriptor_limit();
    if (auto checked = check_hugepages(config, options); !checked) return checked;
    allow_only_configured(options, config);
    options.insert(options.begin(), "turnpike");
    std::vector<char*> argv;
    argv.reserve(options.size());
    for (std::string& word : options) argv.push_back(word.data());
    redirect_eal_log();
    if (init_without_usage(static_cast<int>(argv.size()), argv.data()) < 0)
        return fail(rte_errno, "EAL",
                    "failed to start; its message is above. Its options: " +
                        fmt::format("{}", fmt::join(options.begin() + 1, options.end(), " ")));
    return {};
}

void stop_eal() noexcept { rte_eal_cleanup(); }

}  // namespace turnpike::control
