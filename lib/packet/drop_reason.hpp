// SPDX-License-Identifier: BSD-3-Clause
// Why a packet was freed instead of sent. One list for the whole product: the name is what the
// report prints under `drops`, and every freed packet is counted under exactly one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace turnpike::packet {

/// none first: not a drop.
enum class drop_reason : uint8_t {
    none,
    // Ethernet
    runt,  ///< shorter than an Ethernet header
    // Sending
    tx_refused,  ///< the driver refused it twice: its ring or its link is full
    port_down,   ///< the port it should leave by has no link
    stopping,    ///< turnpike was told to stop when it was still in the receive ring
    count_       ///< how many there are
};

inline constexpr std::string_view drop_names[] = {
    "none", "runt", "tx_refused", "port_down", "stopping",
};
inline constexpr size_t drop_reasons = static_cast<size_t>(drop_reason::count_);
static_assert(std::size(drop_names) == drop_reasons);

constexpr std::string_view name(drop_reason reason) noexcept {
    return drop_names[static_cast<size_t>(reason)];
}

}  // namespace turnpike::packet
