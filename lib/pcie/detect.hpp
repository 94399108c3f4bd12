// SPDX-License-Identifier: BSD-3-Clause
// The link of a device, read from its config space through sysfs.
//
// Source: PCI Express Base Specification 3.0, 7.8 (the PCI Express capability: Device Control 08h,
// Link Control 10h, Link Status 12h) and 7.10.7 (ECRC, in Advanced Error Reporting).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "pcie/link.hpp"

namespace turnpike::pcie {

/// sysfs_root   "/sys", or a recorded tree
/// pci_address  "0000:3b:00.0"; without a domain, domain 0000
/// A virtual function has the link, MPS and MRRS of its physical function (`physfn`). Whether
/// requests carry 64-bit addresses depends on the buffers: taken as yes.
/// Errors  EINVAL: not a PCI address
///         ENODEV: no such device
///         EACCES: only the first 64 bytes are readable, which is what others than root get
///         ENOTSUP: no PCI Express link (an emulated or root-complex integrated device), a link
///         that
///                  is down, or a speed after gen 6
///         EIO: config space that cannot be read or contradicts itself
/// Threads any
[[nodiscard]] result<link> detect_link(const std::filesystem::path& sysfs_root,
                                       std::string_view pci_address);

}  // namespace turnpike::pcie
