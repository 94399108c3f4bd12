// SPDX-License-Identifier: BSD-3-Clause
// The checked command line of turnpike-pcie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "pcie/cost.hpp"

namespace turnpike::pcie_tool {

enum class output { table, csv, json };

struct request {
    std::vector<pcie::nic_profile> known;     ///< the user's profiles, then the built-in ones
    std::vector<pcie::nic_profile> profiles;  ///< selected profiles
    pcie::link link;
    std::string detected;  ///< PCI address of the detected link; empty: none
    std::vector<uint32_t> frames;
    double burst = 32;
    std::optional<double> ethernet_gbps;  ///< overrides the profiles' speed; 0: none
    pcie::published_slip slip = pcie::published_slip::corrected;
    output format = output::table;
    std::string figure;  ///< path without extension; empty: no figure
    bool list_profiles = false;
    bool link_only = false;  ///< --detect without a profile
};

/// The parsed request, or an exit code (after --help or an error).
struct command_line {
    std::optional<request> wanted;
    int exit_code = 0;
};

inline constexpr int exit_failed = 1;   ///< an external failure
inline constexpr int exit_refused = 2;  ///< invalid input

/// Prints help and errors itself.
[[nodiscard]] command_line read_command_line(int argc, char** argv);

}  // namespace turnpike::pcie_tool
