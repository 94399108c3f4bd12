// SPDX-License-Identifier: BSD-3-Clause
// What a route says of a packet, in the 32 bits that a FIB gives back for a destination.
#pragma once

#include <cstdint>

namespace turnpike::datapath {

/// What is done with the packet.
enum class hop_kind : uint8_t {
    none,         ///< no route: the FIB's default
    blackhole,    ///< dropped in silence
    unreachable,  ///< dropped and reported
    local,        ///< one of our addresses
    broadcast,    ///< a connected network's broadcast or network address: not forwarded
    connected,    ///< on the network of port `index`: the destination itself is the neighbour
    gateway,      ///< to the neighbour in slot `index`
};

/// kind in bits 20 to 22, index in bits 0 to 19. Fits rte_fib's 4-byte next hops (31 bits).
struct next_hop {
    hop_kind kind = hop_kind::none;
    uint32_t index = 0;

    static constexpr uint32_t index_bits = 20;
    [[nodiscard]] constexpr uint32_t packed() const noexcept {
        return static_cast<uint32_t>(kind) << index_bits | index;
    }
    static constexpr next_hop unpack(uint64_t packed) noexcept {
        return {static_cast<hop_kind>(packed >> index_bits),
                static_cast<uint32_t>(packed) & ((1u << index_bits) - 1)};
    }
};

}  // namespace turnpike::datapath
