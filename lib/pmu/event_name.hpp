// SPDX-License-Identifier: BSD-3-Clause
// Encodes a core event by the CPU vendor's name, if built with libpfm4.
#pragma once

#include <string_view>

#include "pmu/sysfs_text.hpp"

namespace turnpike::pmu {

/// True if built with libpfm4.
[[nodiscard]] bool knows_event_names() noexcept;

/// name  "INST_RETIRED:ANY_P" for this CPU; "bdx::INST_RETIRED:ANY_P" for another one
/// Errors  ENOTSUP: built without libpfm4; EINVAL: unknown event
/// Threads one at a time
[[nodiscard]] result<encoding> encode_name(std::string_view name);

}  // namespace turnpike::pmu
