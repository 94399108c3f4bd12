// SPDX-License-Identifier: BSD-3-Clause
// Reads the machine's PMUs and their topology from sysfs, the real one or a recorded tree.
//
// Source: Linux, Documentation/ABI/testing/sysfs-bus-event_source-devices*, sysfs-devices-mapping
// (IIO stacks: uncore_iio_N/dieD has the root bus that the stack's box of die D counts for).
// root    "/sys", or a recorded tree
// Errors  ENOENT: it does not exist, explained in a sentence; EACCES, EIO...; EINVAL: the file's
//         format differs from the kernel's documentation
// Threads any
#pragma once

#include <filesystem>
#include <map>
#include <optional>
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
        cpus{};  ///< one CPU per socket or die, for uncore PMUs; empty: a core PMU
    std::vector<format_term> formats{};
    std::map<unsigned, std::string> root_buses{};  ///< by die, for an IIO stack
};

[[nodiscard]] result<device> read_device(const std::filesystem::path& root, std::string_view name);

/// Names of the PMUs of a kind, in the order of their numbers: "uncore_imc" returns uncore_imc_0,
/// uncore_imc_1...; a PMU with exactly that name is returned alone. Empty if there are none.
[[nodiscard]] std::vector<std::string> devices_of(const std::filesystem::path& root,
                                                  std::string_view kind);

[[nodiscard]] result<cpu_model> read_cpu_model(const std::filesystem::path& root);
/// True if SMT is active. False if the kernel does not report it.
[[nodiscard]] bool smt_active(const std::filesystem::path& root);
/// The socket of a CPU; none if the kernel does not report it, as of a CPU that is offline.
[[nodiscard]] std::optional<unsigned> package_of_cpu(const std::filesystem::path& root,
                                                     unsigned cpu);
/// The socket of a NUMA node, by its CPUs; none if the kernel reports it of none of them.
[[nodiscard]] std::optional<unsigned> package_of_node(const std::filesystem::path& root,
                                                      unsigned node);

/// The maximum bandwidth of a device's link as negotiated (of the device's capability, if the kernel does not report the
/// link), by the formula of VTune's documentation: GT/s * 1000 / 8 * lanes * 2 (both directions), MB/s.
struct pci_device {
    std::string address;   ///< "0000:3b:00.0"
    std::string root_bus;  ///< "0000:3a"
    int node = -1;         ///< -1: not reported by the kernel
    double max_mb_s = 0;   ///< 0: unknown
};
[[nodiscard]] result<pci_device> read_pci_device(const std::filesystem::path& root,
                                                 std::string_view address);

/// The IIO stack above a device.
struct stack {
    std::string device;            ///< "uncore_iio_2"
    unsigned number = 0, die = 0;  ///< 2, and the index of the CPU that counts
    unsigned cpu = 0;
    std::vector<std::string> shared;  ///< other PCI devices (except bridges) on the same root bus
};
[[nodiscard]] result<stack> find_stack(const std::filesystem::path& root, const pci_device& of);

}  // namespace turnpike::pmu
