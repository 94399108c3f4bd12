// SPDX-License-Identifier: BSD-3-Clause
// A core event by the name that its maker gives it, where libpfm4 was there when this was built.
#pragma once

#include <string_view>

#include "pmu/sysfs_text.hpp"

namespace turnpike::pmu {

/// Whether libpfm4 is in this program.
[[nodiscard]] bool knows_event_names() noexcept;

/// name  "INST_RETIRED:ANY_P", of the CPU that this runs on; "bdx::INST_RETIRED:ANY_P" of another
/// Errors  ENOTSUP: built without libpfm4; EINVAL: it knows no such event
/// Threads one at a time
[[nodiscard]] result<encoding> encode_name(std::string_view name);

}  // namespace turnpike::pmu
