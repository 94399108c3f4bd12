// SPDX-License-Identifier: BSD-3-Clause
// Reads a device's link from its PCI config space in sysfs.
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
/// A virtual function has the link, MPS and MRRS of its physical function (`physfn`). Assumes
/// 64-bit request addresses, which depend on the buffers. Without CAP_SYS_ADMIN, only the first 64 bytes of the config space are
/// readable: generation and lanes come from `current_link_speed` and `current_link_width`, and MPS and MRRS are those of `link`.
/// Errors  EINVAL: not a PCI address
///         ENODEV: no such device
///         EACCES: only the first 64 bytes are readable, and these attributes have no link
///         ENOTSUP: no PCI Express link (an emulated or root-complex integrated device), a link
///                  that is down, or a speed after gen 6
///         EIO: unreadable or inconsistent config space
/// Threads any
[[nodiscard]] result<link> detect_link(const std::filesystem::path& sysfs_root,
                                       std::string_view pci_address);

/// The same, of a copy of a function's config space (detect_link() reads `config` in sysfs).
///
/// device  its name in errors
[[nodiscard]] result<link> link_of_config(std::string_view config, const std::string& device);

/// Active State Power Management that Link Control enables: bit 0: L0s, bit 1: L1. The same errors.
[[nodiscard]] result<unsigned> aspm_of_config(std::string_view config, const std::string& device);

}  // namespace turnpike::pcie
