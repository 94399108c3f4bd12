// SPDX-License-Identifier: BSD-3-Clause
// PCI devices in EAL's device strings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace turnpike::state {

/// The PCI addresses of a device string as sysfs writes them ("0000:3b:00.0", "10000:e1:00.0"): the one at its beginning
/// ("3B:0.0,arg=1"), and the members of a virtual device ("net_bonding0,slave=0000:3b:00.0").
[[nodiscard]] std::vector<std::string> pci_addresses_of(std::string_view device);

/// Whether DPDK uses the devices of a kernel's driver beside it, by verbs. The port's queues then get the packets to its MAC
/// address, broadcast and multicast, and the kernel's interface does not (DPDK guides/nics/mlx5.rst, Flow Isolated Mode).
[[nodiscard]] bool is_bifurcated(std::string_view driver) noexcept;

}  // namespace turnpike::state
