// SPDX-License-Identifier: BSD-3-Clause
// Frames that the tester's own ports dropped in a trial, by the difference of their counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace turnpike::throughput {

/// A port's counter of dropped frames; nullopt: its statistics failed.
using drop_counter = std::optional<uint64_t>;

struct port_drops {
    uint64_t frames = 0;  ///< of the ports whose counters are known
    std::optional<size_t>
        unknown{};  ///< the first port whose statistics failed, or whose counter was reset
};

/// before, after  by port
[[nodiscard]] port_drops drops_between(std::span<const drop_counter> before,
                                       std::span<const drop_counter> after) noexcept;

}  // namespace turnpike::throughput
