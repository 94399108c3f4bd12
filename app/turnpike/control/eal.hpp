// SPDX-License-Identifier: BSD-3-Clause
// Starting EAL: its options from the file and from the command line, and the hugepage check.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "state/desired.hpp"

namespace turnpike::control {

/// The file's EAL options with the command line's put over them: an option that the command line
/// gives (in its short or long form) is taken from there, the file's others stay.
[[nodiscard]] std::vector<std::string> merge_eal_options(const std::vector<std::string>& file,
                                                         const std::vector<std::string>& command);

/// The lcores that EAL's options name ("-l 2,4-5", "--lcores=2", "-c 0x34"), in that order; empty
/// where none are named, or in words that only EAL understands.
[[nodiscard]] std::vector<unsigned> lcores_named(const std::vector<std::string>& options);
/// How many workers there will be: those named in the file, else all of `lcores` but the main one,
/// else as many as there are CPUs for the process; at least one.
[[nodiscard]] uint32_t workers_expected(const state::desired& wanted,
                                        const std::vector<unsigned>& lcores);

/// rte_eal_init with the merged options. Where hugepages are missing: an error that says how many
/// on which node and the command that reserves them, or, with `hugepages: optional`, a start
/// without. Errors  ENOMEM: hugepages; else what EAL says. Call once, from the main thread.
[[nodiscard]] result<void> start_eal(const state::desired& wanted,
                                     const std::vector<std::string>& command);

/// rte_eal_cleanup. Every port and pool must be gone.
void stop_eal() noexcept;

}  // namespace turnpike::control
