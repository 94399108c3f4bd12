// SPDX-License-Identifier: BSD-3-Clause
// Export of packet samples, drop notifications and counters to sFlow collectors (sFlow version 5, sflow.org).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/ip.hpp"
#include "state/listen_address.hpp"
#include "state/origin.hpp"

namespace turnpike::state {

enum class sampling_direction : uint8_t { in, out, both };
inline constexpr std::string_view sampling_direction_names[] = {"in", "out", "both"};

struct sflow {
    static constexpr size_t max_collectors = 4;
    std::vector<listen_address> collectors{};  ///< UDP addresses; empty: nothing is exported
    std::string agent{};  ///< IP address of the agent; empty: the socket's to the first collector
    uint32_t sample = 1000;  ///< one packet of so many, of each port; 0: none
    sampling_direction direction =
        sampling_direction::in;   ///< received packets, sent ones, or both
    uint16_t header_bytes = 128;  ///< of a sampled or dropped packet
    uint32_t counters_s = 20;     ///< interval of the counters; 0: none
    uint32_t drops_per_s =
        100;  ///< notifications of dropped packets, of each worker and of control; 0: none
    origin where{};
    [[nodiscard]] bool samples_in() const noexcept { return direction != sampling_direction::out; }
    [[nodiscard]] bool samples_out() const noexcept { return direction != sampling_direction::in; }
    bool operator==(const sflow& o) const noexcept {
        return collectors == o.collectors && agent == o.agent && sample == o.sample &&
               direction == o.direction && header_bytes == o.header_bytes &&
               counters_s == o.counters_s && drops_per_s == o.drops_per_s;
    }
};

}  // namespace turnpike::state
