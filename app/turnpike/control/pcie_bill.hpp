// SPDX-License-Identifier: BSD-3-Clause
// The PCIe bill of each port, modelled (lib/pcie) for what it did in the run.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "control/measuring.hpp"
#include "observe/report.hpp"
#include "pcie/profile.hpp"
#include "state/desired.hpp"

namespace turnpike::control {

/// The NIC profiles to choose from: the operator's own, then the built-in ones; and that every name
/// and link in the configuration is one.
/// Errors  of the profiles' file, or EINVAL with the port's place
[[nodiscard]] result<std::vector<pcie::nic_profile>> pcie_profiles(const state::desired& wanted);
/// Fill port.pcie: modelled from what the port did, its driver's profile and its link; counted from
/// what its driver counted (port.pcie.counts); measured from the counters of the PCIe root in front of
/// it; each with the relative differences of the numbers that two of them have.
/// pci_address  empty for a device that is on no PCI bus
void fill_pcie_bill(observe::port_report& port, const state::pcie& wanted,
                    const std::string& pci_address, const std::vector<pcie::nic_profile>& profiles,
                    const measuring::port_counts& root = {});

}  // namespace turnpike::control
