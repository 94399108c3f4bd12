// SPDX-License-Identifier: BSD-3-Clause
#include "examine.hpp"

namespace turnpike::doctor {

const std::vector<check>& checks() {
    static const std::vector<check> all = {
        {"hugepages", "hugepages by node, size and cgroup limit", check_hugepages},
        {"iommu", "IOMMU and vfio", check_iommu},
        {"nics", "the driver of each network device", check_nics},
        {"pcie", "link speed and width, payload and request sizes, ASPM", check_pcie},
        {"numa", "nodes of ports, cores and memory", check_numa},
        {"af_xdp", "interfaces of the kernel that ports use", check_af_xdp},
        {"cores", "lcores that are online", check_cores},
        {"isolation", "cores that the scheduler leaves alone", check_isolation},
        {"interrupts", "interrupts on lcores", check_interrupts},
        {"smt", "lcores that share a core", check_smt},
        {"frequency", "frequency governor", check_frequency},
        {"idle_states", "C-states of lcores", check_idle_states},
        {"clock", "time stamp counter", check_clock},
        {"thp", "transparent hugepages", check_thp},
        {"kernel", "version and settings of the kernel", check_kernel},
        {"limits", "resource limits", check_limits},
        {"ddio", "device writes into the cache", check_ddio},
    };
    return all;
}

std::vector<diagnosis> examine(const machine& m, const plan& p) {
    std::vector<diagnosis> out;
    for (const check& c : checks()) {
        const size_t first = out.size();
        c.function(m, p, out);
        for (size_t i = first; i < out.size(); ++i) out[i].check = c.name;
    }
    return out;
}

}  // namespace turnpike::doctor
