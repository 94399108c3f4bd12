// SPDX-License-Identifier: BSD-3-Clause
// What EAL is started with: options of the user's, and of our own what those do not speak of.
#pragma once

#include <string>
#include <vector>

namespace turnpike::bench {

struct machine {
    bool hugepages;  ///< some are free
    unsigned cpus;
};

/// Ours, where `given` says nothing of the same matter: which lcores, which devices (none of PCI's),
/// telemetry (none), messages (the libraries' errors), and memory: huge pages where there are some,
/// else `memory_mb` of small ones.
std::vector<std::string> eal_options(std::vector<std::string> given, const machine& here,
                                     unsigned memory_mb, unsigned lcores);

/// The user says which devices there are: those of PCI, or virtual ones.
bool names_device(const std::vector<std::string>& given);

}  // namespace turnpike::bench
