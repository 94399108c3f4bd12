// SPDX-License-Identifier: BSD-3-Clause
// The machine's PMUs, and what stands behind which: read from sysfs, from the real one or a recorded tree.
//
// Source: Linux, Documentation/ABI/testing/sysfs-bus-event_source-devices*, sysfs-devices-mapping
// (IIO stacks: uncore_iio_N/dieD holds the root bus that the stack's box of die D counts for).
// root    "/sys", or a recorded tree
// Errors  ENOENT: there is no such thing, said in a sentence; EACCES, EIO...; EINVAL: the file says
//         something else than the kernel's documents say
// Threads any
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "pmu/sysfs_text.hpp"

namespace turnpike::pmu {

/// One of /sys/bus/event_source/devices.
struct device {
    std::string name;
    uint32_t type = 0;
    std::vector<unsigned>
        cpus{};  ///< one a socket or die, for what is not a core's; empty: a core's
    std::vector<format_term> formats{};
    std::map<unsigned, std::string> root_buses{};  ///< by die, of an IIO stack
};

[[nodiscard]] result<device> read_device(const std::filesystem::path& root, std::string_view name);

/// Names of the PMUs of a kind, in the order of their numbers: "uncore_imc" gives uncore_imc_0,
/// uncore_imc_1...; a PMU that has the name itself, it alone. None: empty.
[[nodiscard]] std::vector<std::string> devices_of(const std::filesystem::path& root,
                                                  std::string_view kind);

[[nodiscard]] result<cpu_model> read_cpu_model(const std::filesystem::path& root);
/// Two threads a core are in use. A kernel that does not say: false.
[[nodiscard]] bool smt_active(const std::filesystem::path& root);
/// The socket that a CPU is in. A kernel that does not say: 0.
[[nodiscard]] unsigned package_of_cpu(const std::filesystem::path& root, unsigned cpu);
/// The NUMA node that a CPU is in; -1: the kernel does not say.
[[nodiscard]] int node_of_cpu(const std::filesystem::path& root, unsigned cpu);

/// What the fastest link of a device could do, as the VTune document counts it: GT/s * 1000 / 8 *
/// lanes * 2 (both directions), MB/s.
struct pci_device {
    std::string address;   ///< "0000:3b:00.0"
    std::string root_bus;  ///< "0000:3a"
    int node = -1;         ///< -1: the kernel does not say
    double max_mb_s = 0;   ///< 0: unknown
};
[[nodiscard]] result<pci_device> read_pci_device(const std::filesystem::path& root,
                                                 std::string_view address);

/// The IIO stack in front of a device.
struct stack {
    std::string device;            ///< "uncore_iio_2"
    unsigned number = 0, die = 0;  ///< 2, and which of its CPUs counts
    unsigned cpu = 0;
    std::vector<std::string> shared;  ///< other PCI devices (no bridges) on the same root bus
};
[[nodiscard]] result<stack> find_stack(const std::filesystem::path& root, const pci_device& of);

}  // namespace turnpike::pmu
