// SPDX-License-Identifier: BSD-3-Clause
// What the command line of turnpike-pcie asks for, checked.
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
    std::vector<pcie::nic_profile> known;     ///< a user's own, then the built-in ones
    std::vector<pcie::nic_profile> profiles;  ///< those to price
    pcie::link link;
    std::string detected;  ///< the PCI address the link was read from; empty: none
    std::vector<uint32_t> frames;
    double burst = 32;
    std::optional<double> ethernet_gbps;  ///< instead of each profile's own; 0: none
    pcie::published_slip slip = pcie::published_slip::corrected;
    output format = output::table;
    std::string figure;  ///< path without extension; empty: none
    bool list_profiles = false;
    bool link_only = false;  ///< --detect without anything to price
};

/// What is left to do: a request, or nothing but to exit (--help, a refused command line).
struct command_line {
    std::optional<request> wanted;
    int exit_code = 0;
};

inline constexpr int exit_failed = 1;   ///< something outside failed
inline constexpr int exit_refused = 2;  ///< the input is wrong

/// Prints help and refusals itself.
[[nodiscard]] command_line read_command_line(int argc, char** argv);

}  // namespace turnpike::pcie_tool
