// SPDX-License-Identifier: BSD-3-Clause
// EAL start: merges its options from the file and the command line, and checks hugepages.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "state/configuration.hpp"

namespace turnpike::control {

/// EAL options of the file, overridden by the command line: an option given on the command line
/// (in its short or long form) replaces the file's; the file's other options stay.
[[nodiscard]] std::vector<std::string> merge_eal_options(const std::vector<std::string>& file,
                                                         const std::vector<std::string>& command);

/// Restricts EAL to the PCI devices of the configured ports, and of its own options, unless these have a list: another
/// process may use the others. Devices of ports that are added later are probed then.
void allow_only_configured(std::vector<std::string>& options, const state::configuration& config);
/// Adds --in-memory unless the options say where EAL's memory and its shared files are: several processes then run side by
/// side, without a hugetlbfs mount, and leave no files. Secondary processes of DPDK need --file-prefix instead.
void prefer_in_memory(std::vector<std::string>& options);
/// Expected number of workers: the lcores of the file, else `lcores` without the main one,
/// else the process's CPUs of which EAL makes lcores, in `affinity`; at least one.
[[nodiscard]] uint32_t workers_expected(const state::configuration& config,
                                        const std::vector<unsigned>& lcores,
                                        const std::vector<unsigned>& affinity);

/// Whether the machine has the CPUs of the lcores.
/// root    "/", or a recorded tree with sys/devices/system/cpu
/// Errors  EINVAL with the CPUs
[[nodiscard]] result<void> check_lcores(const std::vector<std::string>& options,
                                        const std::string& root);
/// Whether a thread of this process may run on a CPU: a trial, as the affinity that it inherits is no upper bound (isolcpus).
[[nodiscard]] bool may_use(unsigned cpu);
/// Whether this process's control group permits the CPUs of the lcores: for another one, EAL ends the process (rte_panic()).
/// Errors  EINVAL with the CPUs
[[nodiscard]] result<void> check_cpuset(const std::vector<std::string>& options,
                                        const std::function<bool(unsigned)>& permits = may_use);
/// Whether EAL is given the lcores of `workers`; without an option for lcores, whether the machine has their CPUs. The main
/// lcore may not be one of several.
/// root    as for check_lcores()
/// Errors  EINVAL with the lcore
[[nodiscard]] result<void> check_workers(const state::configuration& config,
                                         const std::vector<std::string>& options,
                                         const std::string& root);
/// Errors that start_eal() and the workers' start would find in the options, for --check. CPUs that the control group does not
/// permit are a warning: the service's may permit them.
[[nodiscard]] result<void> check_eal(const state::configuration& config,
                                     const std::vector<std::string>& command);

/// rte_eal_init with the merged options. If hugepages are missing, fails with their number, the
/// node and the command to reserve them, or, with `hugepages: optional`, starts
/// without. Errors  ENOMEM: hugepages; else EAL's. Call once, from the main thread.
[[nodiscard]] result<void> start_eal(const state::configuration& config,
                                     const std::vector<std::string>& command);

/// rte_eal_cleanup. Requires that all ports and pools are freed.
void stop_eal() noexcept;

}  // namespace turnpike::control
