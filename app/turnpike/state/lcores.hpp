// SPDX-License-Identifier: BSD-3-Clause
// Lcores in EAL's options.
// Source  DPDK, EAL parameters: -c, -l, --lcores
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace turnpike::state {

/// The CPUs of a list, such as "2,4-6" (also Linux' cpulist), or "0@2,(1-3)@(4,6)"; empty in another syntax.
[[nodiscard]] std::vector<unsigned> cpus_of_list(std::string_view text);

struct lcore {
    unsigned id = 0, cpu = 0;  ///< of several CPUs, the first
    bool has_more_cpus = false;
};

/// The lcores in EAL's options ("-l 2,4-5", "--lcores=0@2,(1,2)@(4-5)", "-c 0x34"), in that order. Empty if there are none,
/// or in a syntax that only EAL parses.
[[nodiscard]] std::vector<lcore> lcores_of(const std::vector<std::string>& options);

/// Their CPUs.
[[nodiscard]] std::vector<unsigned> cpus_of_lcores(const std::vector<std::string>& options);

/// EAL's main lcore: --main-lcore, else the lowest ID (rte_eal_init()).
[[nodiscard]] unsigned main_lcore_of(const std::vector<std::string>& options,
                                     const std::vector<lcore>& lcores);

/// Its CPU, on whose NUMA node EAL and the mbuf pool allocate.
/// affinity  the process's CPUs, ascending: without an option for lcores, EAL takes these
[[nodiscard]] unsigned cpu_of_main(const std::vector<std::string>& options,
                                   const std::vector<unsigned>& affinity);

/// Why `workers` cannot name these lcores, such as "names lcore 5, which EAL is not given (-l 0-1)"; empty: they can, or EAL
/// alone knows its lcores.
/// online  the machine's CPUs, as the kernel lists them: without an option for lcores, EAL takes these
[[nodiscard]] std::string worker_fault(const std::vector<unsigned>& workers,
                                       const std::vector<std::string>& options,
                                       std::string_view online);

/// The option that cpus_of_lcores() reads, as in "-l 2,4-5"; empty if there is none.
[[nodiscard]] std::string lcores_option(const std::vector<std::string>& options);

}  // namespace turnpike::state
