// SPDX-License-Identifier: BSD-3-Clause
// The PCIe bill of each port, modelled (lib/pcie) for what it did in the run.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/model.hpp"
#include "cost/report.hpp"
#include "pcie/profile.hpp"

namespace turnpike::control {

/// The NIC profiles to choose from: the operator's own, then the built-in ones; and that every name
/// and link in the configuration is one.
/// Errors  of the profiles' file, or EINVAL with the port's place
[[nodiscard]] result<std::vector<pcie::nic_profile>> pcie_profiles(const config::model& model);

/// Fill port.pcie from what the port did, its driver's profile and its link.
/// pci_address  empty for a device that is on no PCI bus
void fill_pcie_bill(cost::port_report& port, const config::pcie& wanted,
                    const std::string& pci_address, const std::vector<pcie::nic_profile>& profiles);

}  // namespace turnpike::control
