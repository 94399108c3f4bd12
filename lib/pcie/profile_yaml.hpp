// SPDX-License-Identifier: BSD-3-Clause
// Parser for users' NIC profiles in YAML.
//
//   profiles:
//     - name: my-nic
//       base: ixgbe                  # optional: start from a built-in profile or an earlier one
//       summary: one line
//       drivers: [net_mine]          # optional: ports of these drivers take this profile
//       ethernet_gbps: 25
//       rx:                          # fields and defaults: direction_profile in pcie/profile.hpp
//         fetch: {bytes: 16, batch: 4, policy: full_batch}
//         write_back: {policy: by_line, full_line_share: 0.43, partial_entries: 2.5}
//         doorbell: {policy: every, packets: 32}
//       tx: {...}
//       known: ["..."]
//       assumptions: ["..."]
//
// A profile does not inherit `drivers` from its base; `known` and `assumptions`, if given, replace
// the base's.
// Errors  EINVAL, `object` is FILE:LINE; unknown and repeated keys are refused
// Threads any
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pcie/profile.hpp"

namespace turnpike::pcie {

/// Errors  also of opening the file
[[nodiscard]] result<std::vector<nic_profile>> load_profiles(const std::filesystem::path& file);

/// origin  replaces FILE in messages
[[nodiscard]] result<std::vector<nic_profile>> parse_profiles(const std::string& yaml,
                                                              const std::string& origin);

}  // namespace turnpike::pcie
