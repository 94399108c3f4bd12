// SPDX-License-Identifier: BSD-3-Clause
// The PCI devices that EAL's device strings name.
#pragma once

#include <string>
#include <vector>

namespace turnpike::rxtx {

/// The PCI addresses in device strings, each once: the one at a string's beginning with its
/// arguments ("0000:3b:00.0,arg=1"), and the members of virtual devices
/// ("net_bonding0,slave=0000:3b:00.0,slave=0000:3b:00.1").
/// Threads any. Errors none.
std::vector<std::string> pci_devices_in(const std::vector<std::string>& devices);

}  // namespace turnpike::rxtx
