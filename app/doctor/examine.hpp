// SPDX-License-Identifier: BSD-3-Clause
// The checks of turnpike-doctor: the state of a machine against the needs of a forwarder.
//
// Sources: "Benchmarking and Analysis of Software Network Data Planes" (2017), section 10 (tuning tips, named in a diagnosis's
// reason) and 13.3 (BIOS); DPDK's getting started guide for Linux; Linux Documentation/admin-guide (kernel-parameters, hugetlbpage),
// Documentation/networking/af_xdp.rst.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "machine.hpp"

namespace turnpike::doctor {

enum class severity : uint8_t {
    ok,
    note,     ///< costs speed or steadiness, or could not be read
    warning,  ///< costs packets or much speed
    error,    ///< turnpike does not start, or the machine is cut off
};
inline constexpr std::string_view severity_names[] = {"ok", "note", "warning", "error"};

/// A file to write, as `doctor --fix` does.
struct file_change {
    std::string file{}, from{}, to{};
};

struct diagnosis {
    severity level = severity::ok;
    std::string check{};    ///< the check's name, as in --fix NAME
    std::string subject{};  ///< a part of the machine: "node 0", "0000:3b:00.0", "cpu 3"
    std::string text{};
    std::string reason{};                ///< why it matters, with its source
    std::vector<std::string> remedy{};   ///< commands or settings, one a line
    std::vector<file_change> changes{};  ///< the part of the remedy that --fix can do
};

enum class hugepage_use : uint8_t {
    required,
    optional,  ///< eal: {hugepages: optional}
    none,      ///< --no-huge
};

/// The ports and CPUs to judge. Without a configuration both are empty: all devices, and no particular core.
struct plan {
    struct port {
        std::string name{}, device{};
        unsigned rx_queues = 1;
    };
    std::vector<port> ports{};
    std::set<unsigned> cpus{};     ///< of lcores
    std::set<unsigned> workers{};  ///< CPUs of workers
    std::string worker_fault{};    ///< of `workers` (state/lcores.hpp); empty: none
    std::string unread_lcores{};   ///< an option of EAL whose syntax is unknown here; empty: none
    hugepage_use hugepages = hugepage_use::required;
    bool configured = false;
};

using check_function = void (*)(const machine&, const plan&, std::vector<diagnosis>&);

struct check {
    std::string_view name, about;
    check_function function;
};

/// All checks, in the order of their diagnoses.
[[nodiscard]] const std::vector<check>& checks();

/// Findings of all checks.
[[nodiscard]] std::vector<diagnosis> examine(const machine& m, const plan& p);

void check_hugepages(const machine&, const plan&, std::vector<diagnosis>&);
void check_iommu(const machine&, const plan&, std::vector<diagnosis>&);
void check_nics(const machine&, const plan&, std::vector<diagnosis>&);
void check_pcie(const machine&, const plan&, std::vector<diagnosis>&);
void check_numa(const machine&, const plan&, std::vector<diagnosis>&);
void check_af_xdp(const machine&, const plan&, std::vector<diagnosis>&);
void check_cores(const machine&, const plan&, std::vector<diagnosis>&);
void check_isolation(const machine&, const plan&, std::vector<diagnosis>&);
void check_interrupts(const machine&, const plan&, std::vector<diagnosis>&);
void check_smt(const machine&, const plan&, std::vector<diagnosis>&);
void check_frequency(const machine&, const plan&, std::vector<diagnosis>&);
void check_idle_states(const machine&, const plan&, std::vector<diagnosis>&);
void check_clock(const machine&, const plan&, std::vector<diagnosis>&);
void check_thp(const machine&, const plan&, std::vector<diagnosis>&);
void check_kernel(const machine&, const plan&, std::vector<diagnosis>&);
void check_limits(const machine&, const plan&, std::vector<diagnosis>&);
void check_ddio(const machine&, const plan&, std::vector<diagnosis>&);

}  // namespace turnpike::doctor
