// SPDX-License-Identifier: BSD-3-Clause
// The JSON Schema of the configuration file, for editors, for doc/configuration.md and for programs that write files.
#pragma once

#include <string>
#include <string_view>

namespace turnpike::sources {

/// The keys of a file.
inline constexpr std::string_view file_keys[] = {"eal",           "workers",
                                                 "mempool",       "tx",
                                                 "idle",          "pcie_profiles",
                                                 "acl",           "ports",
                                                 "interfaces",    "tunnels",
                                                 "mirrors",       "xconnects",
                                                 "bridges",       "vrfs",
                                                 "routes",        "icmp",
                                                 "punt_rate",     "ecmp",
                                                 "drop_bogons",   "resolve_via_default",
                                                 "neighbours",    "control",
                                                 "control_plane", "metrics",
                                                 "sflow",         "interface_counters",
                                                 "latency"};

/// JSON Schema (draft-07) of a file: complete for objects with a table (fields.hpp); other keys take any value.
/// Additional members: "x-unit", "x-values" (the form of a text), and "x-change" (the effect on a running turnpike).
[[nodiscard]] std::string json_schema();

/// The keys, words and limits of all tables as a dictionary of libFuzzer: one quoted word per line.
[[nodiscard]] std::string fuzz_dictionary();

}  // namespace turnpike::sources
