// SPDX-License-Identifier: BSD-3-Clause
#include "port_drops.hpp"

namespace turnpike::throughput {

port_drops drops_between(std::span<const drop_counter> before,
                         std::span<const drop_counter> after) noexcept {
    port_drops d;
    for (size_t i = 0; i < before.size(); ++i)
        if (before[i] && after[i] && *after[i] >= *before[i])
            d.frames += *after[i] - *before[i];
        else if (!d.unknown)
            d.unknown = i;
    return d;
}

}  // namespace turnpike::throughput
