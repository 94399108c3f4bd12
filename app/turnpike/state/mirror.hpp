// SPDX-License-Identifier: BSD-3-Clause
// A mirror as plain data: frames of some ports are copied to another port (SPAN), with a VLAN tag on request (RSPAN).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "state/origin.hpp"

namespace turnpike::state {

struct configuration;

inline constexpr size_t max_mirrors = 64;

struct mirror {
    std::vector<std::string> ports{};     ///< names of the mirrored ports
    bool in = true, out = true;           ///< directions
    std::optional<uint16_t> vlan{};       ///< only frames with this outer VLAN ID
    uint32_t sample = 1;                  ///< copy one frame of so many
    std::optional<uint32_t> max_bytes{};  ///< copies are cut to this length
    std::string to{};                     ///< destination port
    std::optional<uint16_t> to_vlan{};    ///< VLAN ID of a tag in front of each copy
    origin where{};
    bool operator==(const mirror&) const = default;
};

/// Rules of all mirrors: their ports exist, and none is mirrored to itself.
/// Errors  EINVAL, with the mirror's place
[[nodiscard]] result<void> check_mirrors(const configuration& in);

}  // namespace turnpike::state
