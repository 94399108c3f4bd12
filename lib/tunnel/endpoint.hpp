// SPDX-License-Identifier: BSD-3-Clause
// endpoint.hpp: a tunnel endpoint as a key for lib/hash, from the outer headers of a received
// packet (RFC 7348 section 5).
//
//   IPv4   | end 8, VNI 24, from 32 |      IPv6   | from 128 | to 128 | port, VRF, VNI 64 |
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace turnpike::tunnel {

/// IPv4 underlay, in one word. Local addresses and ports are few, so each pair has a number.
struct endpoint4 {
    uint64_t
        word;  ///< | number of the local address and port 8 | VNI 24 | outer source address 32 |

    endpoint4() = default;  // not zeroed: used for arrays of keys
    /// source  in any byte order, as long as it is always the same
    constexpr endpoint4(uint32_t source, uint32_t vni, uint8_t end) noexcept
        : word(uint64_t{end} << 56 | uint64_t{vni & 0xff'ffff} << 32 | source) {}
    bool operator==(const endpoint4&) const = default;
};
static_assert(sizeof(endpoint4) == 8);

/// IPv6 underlay.
struct endpoint6 {
    uint64_t from[2];  ///< the outer source address, network byte order
    uint64_t to[2];    ///< the outer destination, a local address
    uint64_t network;  ///< | UDP port 16 | VRF 8 | VNI 24 |

    endpoint6() = default;
    /// source, destination  [16]; vrf: distinguishes equal addresses; port: the local UDP port
    endpoint6(const uint8_t* source, const uint8_t* destination, uint32_t vni, uint8_t vrf = 0,
              uint16_t port = 0) noexcept
        : network(uint64_t{port} << 32 | uint64_t{vrf} << 24 | (vni & 0xff'ffff)) {
        std::memcpy(from, source, sizeof from);
        std::memcpy(to, destination, sizeof to);
    }
    bool operator==(const endpoint6&) const = default;
};
static_assert(sizeof(endpoint6) == 40);

/// A 64-bit mark of a key: for IPv4 the key itself, for IPv6 a sum, which is not unique.
inline uint64_t mark_of(const endpoint4& key) noexcept { return key.word; }
inline uint64_t mark_of(const endpoint6& key) noexcept {
    const uint64_t from = key.from[0] ^ std::rotl(key.from[1], 23);
    const uint64_t to = key.to[0] ^ std::rotl(key.to[1], 41);
    return ((from + key.network) ^ std::rotl(to, 7)) * 0x9e37'79b9'7f4a'7c15ULL;
}
/// 0 if two keys are equal: no branch per word.
inline uint64_t differ(const endpoint4& a, const endpoint4& b) noexcept { return a.word ^ b.word; }
inline uint64_t differ(const endpoint6& a, const endpoint6& b) noexcept {
    return (a.from[0] ^ b.from[0]) | (a.from[1] ^ b.from[1]) | (a.to[0] ^ b.to[0]) |
           (a.to[1] ^ b.to[1]) | (a.network ^ b.network);
}
/// True if the mark identifies the key.
template <class Key>
inline constexpr bool mark_is_key = sizeof(Key) == sizeof(uint64_t);

}  // namespace turnpike::tunnel
