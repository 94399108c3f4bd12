// SPDX-License-Identifier: BSD-3-Clause
// Cores of workers: isolation, interrupts, siblings, frequency, idle states, clock, kernel.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <regex>

#include "examine.hpp"

namespace turnpike::doctor {
namespace {

constexpr const char* cpu_folder = "/sys/devices/system/cpu";

std::string of_cpu(unsigned cpu, std::string_view file) {
    return fmt::format("{}/cpu{}/{}", cpu_folder, cpu, file);
}

std::set<unsigned> online(const machine& m) {
    return parse_list(m.text(fmt::format("{}/online", cpu_folder)));
}

/// Isolated by the kernel's command line, or as a partition of cgroup v2, which not every kernel lists in sysfs.
/// Source  Linux Documentation/admin-guide/cgroup-v2.rst, cpuset.cpus.isolated
std::set<unsigned> isolated_cpus(const machine& m) {
    auto out = parse_list(m.text(fmt::format("{}/isolated", cpu_folder)));
    out.merge(parse_list(m.text("/sys/fs/cgroup/cpuset.cpus.isolated")));
    return out;
}

/// The lcores' CPUs; without a plan, all.
std::set<unsigned> of_interest(const machine& m, const plan& p) {
    return p.cpus.empty() ? online(m) : p.cpus;
}

std::set<unsigned> minus(const std::set<unsigned>& from, const std::set<unsigned>& what) {
    std::set<unsigned> out;
    std::set_difference(from.begin(), from.end(), what.begin(), what.end(),
                        std::inserter(out, out.end()));
    return out;
}

std::set<unsigned> both(const std::set<unsigned>& one, const std::set<unsigned>& other) {
    std::set<unsigned> out;
    std::set_intersection(one.begin(), one.end(), other.begin(), other.end(),
                          std::inserter(out, out.end()));
    return out;
}

/// Whether only the kernel places an interrupt: a block device's queues have one for each CPU. NVMe's queue 0 is its admin
/// queue, whose interrupt can be moved.
/// Source  Linux Documentation/admin-guide/kernel-parameters.txt, isolcpus=managed_irq; drivers/nvme/host/pci.c,
///         drivers/block/virtio_blk.c and drivers/scsi/virtio_scsi.c (names of the interrupts)
bool is_managed(const machine& m, const std::string& irq_folder) {
    static const std::regex queue("nvme[0-9]+q[1-9][0-9]*|virtio[0-9]+-req.*");
    const auto names = m.names(irq_folder);  // a folder with the name of each action is among them
    return std::any_of(names.begin(), names.end(),
                       [](const std::string& name) { return std::regex_match(name, queue); });
}

diagnosis managed_interrupts(const std::set<unsigned>& workers,
                             const std::vector<std::string>& irqs) {
    return {.level = severity::note,
            .subject = "cpu " + list_text(workers),
            .text = fmt::format("{} interrupts of block devices' queues go there: {}", irqs.size(),
                                fmt::join(irqs, " ")),
            .reason = "the kernel manages these interrupts: writing smp_affinity_list fails (EIO)",
            .remedy = {fmt::format("isolcpus=managed_irq,domain,{} on the kernel's command line",
                                   list_text(workers))}};
}

}  // namespace

void check_cores(const machine& m, const plan& p, std::vector<diagnosis>& out) {
    const auto there = online(m);
    const auto missing = minus(p.cpus, there);
    if (!p.unread_lcores.empty())
        out.push_back({.level = severity::warning,
                       .subject = p.unread_lcores,
                       .text = "is no list of lcores: no check of cores says anything of them",
                       .remedy = {"-l 0,2-3, --lcores 0@2,1@3 or -c 0xd"}});
    if (!p.worker_fault.empty())
        out.push_back({.level = severity::error,
                       .subject = "workers",
                       .text = p.worker_fault,
                       .remedy = {"workers: [...] with lcores of EAL (-l) but the main one"}});
    if (!missing.empty())
        out.push_back({.level = severity::error,
                       .subject = "cpu " + list_text(missing),
                       .text = fmt::format(
                           "the configuration's lcores need it, and it is not online (online: {})",
                           list_text(there)),
                       .remedy = {"eal: {args: \"-l ...\"} with CPUs that are online"}});
    else if (!p.cpus.empty())
        out.push_back({.subject = "cpu " + list_text(p.cpus), .text = "online"});
}

void check_isolation(const machine& m, const plan& p, std::vector<diagnosis>& out) {
    const auto isolated = isolated_cpus(m);
    if (p.cpus.empty()) {
        out.push_back(
            {.level = isolated.empty() ? severity::note : severity::ok,
             .subject = "isolated cores",
             .text = isolated.empty() ? "none" : list_text(isolated),
             .reason =
                 isolated.empty() ? "other programs run between packets (section 10.1, 1.3)" : "",
             .remedy = isolated.empty()
                           ? std::vector<std::string>{"isolcpus=managed_irq,domain,LIST "
                                                      "nohz_full=LIST rcu_nocbs=LIST on the "
                                                      "kernel's command line, for the workers' "
                                                      "cores"}
                           : std::vector<std::string>{}});
        return;
    }
    const std::set<unsigned>& workers = p.workers;  // the main lcore runs control
    // "(null)" if the kernel's command line has none; no file in a kernel without CONFIG_NO_HZ_FULL.
    const auto tickless = m.read(fmt::format("{}/nohz_full", cpu_folder));
    const auto shared = minus(workers, isolated),
               ticking = minus(workers, parse_list(tickless.value_or("")));
    if (!shared.empty())
        out.push_back({.level = severity::warning,
                       .subject = "cpu " + list_text(shared),
                       .text = "the scheduler runs other programs on these workers' cores",
                       .reason = "a worker that does not run loses what its receive queue cannot "
                                 "hold: 1,024 descriptors are 70 us at "
                                 "10 Gbit/s (section 10.1, 1.3)",
                       .remedy = {fmt::format(
                           "isolcpus=managed_irq,domain,{0} nohz_full={0} rcu_nocbs={0} on the "
                           "kernel's command line",
                           list_text(workers))}});
    else if (!ticking.empty())
        out.push_back(
            {.level = severity::note,
             .subject = "cpu " + list_text(ticking),
             .text = "isolated, but with the scheduler's tick",
             .reason = "a tick costs some microseconds, up to 1,000 times a second",
             .remedy = {
                 tickless ? fmt::format("nohz_full={0} rcu_nocbs={0} on the kernel's command line",
                                        list_text(workers))
                          : "this kernel has no nohz_full: use one with CONFIG_NO_HZ_FULL"}});
    else if (!workers.empty())
        out.push_back({.subject = "cpu " + list_text(workers), .text = "isolated, without a tick"});
}

void check_interrupts(const machine& m, const plan& p, std::vector<diagnosis>& out) {
    const std::set<unsigned>& workers = p.workers;
    if (workers.empty()) return;
    diagnosis f{
        .level = severity::warning,
        .subject = "cpu " + list_text(workers),
        .reason =
            "an interrupt costs a worker some microseconds, and its caches (section 10.1, 1.3)"};
    std::vector<std::string> irqs, managed;
    const auto others = minus(online(m), workers), shared = minus(others, isolated_cpus(m));
    const std::string targets = list_text(shared.empty() ? others : shared);
    for (const std::string& irq : m.names("/proc/irq")) {
        const std::string folder = "/proc/irq/" + irq;
        // The affinity allows a CPU; the effective one is where interrupts go.
        const auto effective = m.read(folder + "/effective_affinity_list");
        const std::string allowed = m.text(folder + "/smp_affinity_list");
        const auto cpus = parse_list(effective && !effective->empty() ? *effective : allowed);
        if (both(cpus, workers).empty()) continue;
        if (minus(cpus, workers).empty() && is_managed(m, folder)) {
            managed.push_back(irq);
            continue;
        }
        irqs.push_back(irq);
        if (!others.empty()) f.changes.push_back({folder + "/smp_affinity_list", allowed, targets});
    }
    if (!managed.empty()) out.push_back(managed_interrupts(workers, managed));
    if (irqs.empty()) {
        if (managed.empty() && !m.names("/proc/irq").empty())
            out.push_back({.subject = f.subject, .text = "no interrupt of a device goes there"});
        return;
    }
    f.text =
        fmt::format("{} interrupts of devices go there: {}", irqs.size(), fmt::join(irqs, " "));
    f.remedy = {
        fmt::format("echo {} > /proc/irq/N/smp_affinity_list for each; and stop irqbalance, or set "
                    "its banned CPUs",
                    targets.empty() ? "LIST" : targets)};
    out.push_back(std::move(f));
}

void check_smt(const machine& m, const plan& p, std::vector<diagnosis>& out) {
    const auto isolated = isolated_cpus(m);
    bool alone = !p.cpus.empty();
    for (const unsigned cpu : p.cpus) {
        const auto siblings = parse_list(m.text(of_cpu(cpu, "topology/thread_siblings_list")));
        if (siblings.empty()) alone = false;
        const auto lcores = both(siblings, p.cpus);
        if (lcores.size() > 1) {
            alone = false;
            if (*lcores.begin() == cpu)
                out.push_back({.level = severity::warning,
                               .subject = "cpu " + list_text(lcores),
                               .text = "these lcores are threads of one core",
                               .reason = "they share its caches and execution units: two threads "
                                         "forward 1.2 to 1.5 times as much as one, "
                                         "not twice (section 4.3.3)",
                               .remedy = {"choose one CPU of each core: lscpu -e"}});
            continue;
        }
        const auto strangers = minus(minus(siblings, {cpu}), isolated);
        if (!strangers.empty() && p.workers.count(cpu) != 0) {
            alone = false;
            std::vector<std::string> remedy;
            for (const unsigned stranger : strangers)
                if (const auto file = of_cpu(stranger, "online"); m.read(file))
                    remedy.push_back("echo 0 > " + file);  // CPU 0 of x86 has no such file
            remedy.push_back("isolate both threads of the core, or use another core");
            out.push_back(
                {.level = severity::note,
                 .subject = fmt::format("cpu {}", cpu),
                 .text = fmt::format("the core's other thread, cpu {}, runs other programs",
                                     list_text(strangers)),
                 .reason = "they share its caches and execution units",
                 .remedy = std::move(remedy)});
        }
    }
    if (alone)
        out.push_back({.subject = "cpu " + list_text(p.cpus),
                       .text = "no lcore shares a core with another thread"});
}

void check_frequency(const machine& m, const plan& p, std::vector<diagnosis>& out) {
    diagnosis f{
        .level = severity::warning,
        .reason =
            "a core below its base frequency forwards in proportion, and takes milliseconds "
            "to speed up (section 10.1, 1.1)"};
    std::set<unsigned> slow, judged;
    std::set<std::string> governors;
    for (const unsigned cpu : of_interest(m, p)) {
        const std::string file = of_cpu(cpu, "cpufreq/scaling_governor");
        const auto governor = m.read(file);
        if (!governor) continue;
        judged.insert(cpu);
        if (*governor == "performance") continue;
        slow.insert(cpu);
        governors.insert(*governor);
        f.changes.push_back({file, *governor, "performance"});
    }
    if (judged.empty()) {
        out.push_back({.subject = "frequency",
                       .text = "not controlled by this kernel (a guest, or by firmware)"});
    } else if (slow.empty()) {
        out.push_back({.subject = "cpu " + list_text(judged), .text = "governor performance"});
    } else {
        f.subject = "cpu " + list_text(slow);
        f.text = fmt::format("governor {}", fmt::join(governors, ", "));
        f.remedy = {fmt::format("cpupower -c {} frequency-set -g performance", list_text(slow))};
        out.push_back(std::move(f));
    }
    const bool turbo = m.text(fmt::format("{}/intel_pstate/no_turbo", cpu_folder)) == "0" ||
                       m.text(fmt::format("{}/cpufreq/boost", cpu_folder)) == "1";
    if (turbo)
        out.push_back({.level = severity::note,
                       .subject = "turbo",
                       .text = "on: the frequency depends on temperature and on other cores",
                       .reason = "for measurements that are compared, the frequency should be "
                                 "constant (section 10.1, 1.1)",
                       .remedy = {fmt::format(
                           "echo 1 > {0}/intel_pstate/no_turbo, or echo 0 > {0}/cpufreq/boost",
                           cpu_folder)}});
}

void check_idle_states(const machine& m, const plan& p, std::vector<diagnosis>& out) {
    constexpr uint64_t slow_us = 10;
    diagnosis f{
        .level = severity::note,
        .reason =
            "a core that sleeps deeply wakes up late, and the whole package with it: control "
            "and interrupts wait "
            "(section 10.1, 1.1)"};
    std::set<unsigned> sleepy;
    uint64_t worst = 0;
    for (const unsigned cpu : of_interest(m, p))
        for (const std::string& state : m.names(of_cpu(cpu, "cpuidle"))) {
            const std::string folder = of_cpu(cpu, "cpuidle/" + state);
            const uint64_t latency = m.number(folder + "/latency").value_or(0);
            if (latency <= slow_us || m.text(folder + "/disable") != "0") continue;
            sleepy.insert(cpu);
            worst = std::max(worst, latency);
            f.changes.push_back({folder + "/disable", "0", "1"});
        }
    if (sleepy.empty()) return;
    f.subject = "cpu " + list_text(sleepy);
    f.text = fmt::format("C-states that take up to {} us to leave are enabled", worst);
    f.remedy = {fmt::format("cpupower -c {} idle-set -D {}", list_text(sleepy), slow_us)};
    out.push_back(std::move(f));
}

void check_clock(const machine& m, const plan&, std::vector<diagnosis>& out) {
    const std::string source =
        m.text("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    const std::string info = m.text("/proc/cpuinfo");
    const auto has = [&](std::string_view flag) { return info.find(flag) != std::string::npos; };
    // AArch64's counter (CNTVCT_EL0) has one rate on every CPU: Arm ARM, "The Generic Timer".
    const bool arm = has("CPU implementer");
    if (!info.empty() && !arm && !(has("constant_tsc") && has("nonstop_tsc")))
        out.push_back(
            {.level = severity::warning,
             .subject = "time stamp counter",
             .text = "it is not constant (no constant_tsc and nonstop_tsc in /proc/cpuinfo)",
             .reason = "cycles per packet and latencies are counted by it"});
    // The vDSO reads these without a system call (enum vdso_clock_mode of x86 and arm64).
    constexpr std::string_view fast[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
                                         "arch_sys_counter"};
    if (!source.empty() && std::find(std::begin(fast), std::end(fast), source) == std::end(fast))
        out.push_back(
            {.level = severity::warning,
             .subject = "clock source",
             .text = source + ": each clock_gettime is a system call",
             .reason = "the kernel uses another source if the time stamp counter is not steady",
             .remedy = {"dmesg | grep -i tsc says why; tsc=reliable on the kernel's command line "
                        "if it is known to be"}});
    else if (!source.empty())
        out.push_back({.subject = "clock source", .text = source});
}

void check_kernel(const machine& m, const plan&, std::vector<diagnosis>& out) {
    const std::string release = m.text("/proc/sys/kernel/osrelease");
    unsigned major = 0, minor = 0;
    const auto dot = std::from_chars(release.data(), release.data() + release.size(), major);
    if (dot.ptr < release.data() + release.size())
        std::from_chars(dot.ptr + 1, release.data() + release.size(), minor);
    const bool old = !release.empty() && (major < 5 || (major == 5 && minor < 11));
    out.push_back({.level = old ? severity::warning : severity::ok,
                   .subject = "version",
                   .text = release,
                   .reason = old ? "before 5.11 AF_XDP has no busy polling, and BPF maps and "
                                   "programs count against RLIMIT_MEMLOCK, as packet memory does"
                                 : ""});
    struct setting {
        const char *file, *text, *reason;
    };
    for (const setting& s :
         {setting{
              "/proc/sys/kernel/numa_balancing", "NUMA balancing is on",
              "the kernel unmaps pages to see which CPU uses them, and each access then faults"},
          setting{"/proc/sys/kernel/nmi_watchdog", "the NMI watchdog is on",
                  "it interrupts each core, and takes a hardware counter"}})
        // Values beyond 1 are kinds of it: numa_balancing 2 is memory tiering (Documentation/admin-guide/sysctl/kernel.rst).
        if (const std::string value = m.text(s.file); !value.empty() && value != "0")
            out.push_back({.level = severity::note,
                           .subject = std::string(s.file).substr(std::string("/proc/sys/").size()),
                           .text = s.text,
                           .reason = s.reason,
                           .remedy = {fmt::format("echo 0 > {}", s.file)},
                           .changes = {{s.file, value, "0"}}});
}

void check_ddio(const machine& m, const plan&, std::vector<diagnosis>& out) {
    const std::string info = m.text("/proc/cpuinfo");
    if (info.find("Xeon") == std::string::npos || info.find("hypervisor") != std::string::npos)
        return;
    out.push_back(
        {.level = severity::note,
         .subject = "DDIO",
         .text = "not read: it takes an MSR or PCI register that sysfs does not show",
         .reason = "devices write packets into the last-level cache, into 2 of its ways by "
                   "default; deep receive queues overflow "
                   "them",
         .remedy = {"rdmsr 0xc8b (IIO_LLC_WAYS, Xeon Scalable): 0x600 is two ways of eleven"}});
}

}  // namespace turnpike::doctor
