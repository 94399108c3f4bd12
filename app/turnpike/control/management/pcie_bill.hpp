// SPDX-License-Identifier: BSD-3-Clause
// PCIe transactions of each port, modelled (lib/pcie) from its traffic.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "control/management/machine_counters.hpp"
#include "observe/report.hpp"
#include "pcie/profile.hpp"
#include "state/configuration.hpp"

namespace turnpike::control {

/// The NIC profiles: the operator's, then the built-in ones; checks that every name
/// and link in the configuration is known.
/// Errors  of the profiles' file, or EINVAL with the port's place
[[nodiscard]] result<std::vector<pcie::nic_profile>> pcie_profiles(
    const state::configuration& config);
/// The same checks, without a start: of --check, `check` and dry runs.
[[nodiscard]] result<void> check_pcie(const state::configuration& config);
/// Fill port.pcie: modelled from the port's traffic, its driver's profile and its link; counted
/// from the driver's counters (port.pcie.counts); measured by the counters of the PCIe root port
/// above it; with the relative differences of numbers that two of them have.
/// pci_address  empty for a device that is not on a PCI bus
void fill_pcie_bill(observe::port_report& port, const state::pcie& config,
                    const std::string& pci_address, const std::vector<pcie::nic_profile>& profiles,
                    const machine_counters::port_counts& root = {});

}  // namespace turnpike::control
