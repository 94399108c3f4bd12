// SPDX-License-Identifier: BSD-3-Clause
// The global settings that change while turnpike runs: one row per key (field.hpp). They are keys of the file itself, or of
// maps in it: tx.drain_us.
#pragma once

#include <span>

#include "sources/field.hpp"

namespace turnpike::sources {

[[nodiscard]] std::span<const field<state::configuration>> settings_fields() noexcept;
/// The keys of the process: eal, workers, mempool, control, control_plane, pcie_profiles.
[[nodiscard]] std::span<const field<state::configuration>> process_fields() noexcept;
/// The keys of the process and of the settings; `neighbours` also has the static entries.
[[nodiscard]] key_list settings_keys();
/// Reads the settings of a file, or of an edit; others stay.
void read_settings(const yaml::reader& from, state::configuration& into);

}  // namespace turnpike::sources
