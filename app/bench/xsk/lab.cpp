// SPDX-License-Identifier: BSD-3-Clause
#include "lab.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace turnpike::bench {

result<void> enter_lab() {
    if (geteuid() != 0)
        return fail(EPERM, "turnpike-bench-xsk", "needs root, for network namespaces and BPF");
    if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0)
        return fail(errno, "turnpike-bench-xsk", "cannot create a network namespace");
    // As `ip netns exec` does: remount /sys so that it shows this namespace's interfaces.
    if (mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0)
        return fail(errno, "/sys", "cannot be mounted for the namespace");
    (void)mount("bpf", "/sys/fs/bpf", "bpf", 0, nullptr);  // libxdp (net_af_xdp) uses it
    // Disable IPv6, so that the kernel sends no neighbour discovery. Receive offload at west
    // enables NAPI, so that frames are received in batches without an XDP program too.
    const char* commands =
        "set -e; echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6;"
        "ip link add source type veth peer name west; ip link add east type veth peer name sink;"
        "for i in source west east sink; do ethtool -K $i tx off rx off tso off gso off rxvlan off "
        "txvlan off >/dev/null; ip link set $i up; done;"
        "ethtool -K west gro on >/dev/null";
    if (std::system(commands) != 0)
        return fail(EIO, "turnpike-bench-xsk", "ip (iproute2) or ethtool cannot create veth pairs");
    return {};
}

uint64_t received(const std::string& interface) {
    std::ifstream in("/proc/thread-self/net/dev");
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string name;
        uint64_t bytes = 0, packets = 0;
        if (words >> name >> bytes >> packets && name == interface + ":") return packets;
    }
    return 0;
}

double cpu_ticks::busy_since(const cpu_ticks& before) const {
    return all == before.all
               ? 0
               : static_cast<double>(busy - before.busy) / static_cast<double>(all - before.all);
}

cpu_ticks ticks_of(unsigned cpu) {
    std::ifstream in("/proc/stat");
    const std::string wanted = "cpu" + std::to_string(cpu);
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        if (name != wanted) continue;
        // proc(5): user nice system idle iowait irq softirq steal
        cpu_ticks t;
        uint64_t n = 0;
        for (unsigned i = 0; i < 8 && words >> n; ++i) {
            t.all += n;
            if (i != 3 && i != 4) t.busy += n;
        }
        return t;
    }
    return {};
}

}  // namespace turnpike::bench
