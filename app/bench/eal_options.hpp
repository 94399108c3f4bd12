// SPDX-License-Identifier: BSD-3-Clause
// EAL's options: the user's, and defaults for the rest.
#pragma once

#include <string>
#include <vector>

namespace turnpike::bench {

struct machine {
    bool hugepages;  ///< free hugepages exist
    unsigned cpus;
};

/// The user's options plus defaults for whatever they omit: lcores, PCI devices (`pci_devices`), telemetry
/// (off), messages (errors only), and memory: hugepages if there are any, else `memory_mb` of small
/// pages.
/// pci_devices  of the ports: EAL probes these only
std::vector<std::string> eal_options(std::vector<std::string> given, const machine& here,
                                     unsigned memory_mb, unsigned lcores,
                                     const std::vector<std::string>& pci_devices = {});

/// True if the user's options select devices: PCI or virtual ones.
bool names_device(const std::vector<std::string>& given);

}  // namespace turnpike::bench
