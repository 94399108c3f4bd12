// SPDX-License-Identifier: BSD-3-Clause
// IPv4 fragmentation: RFC 791 section 3.2, "An Example Fragmentation Procedure".
#pragma once

#include <cstdint>

namespace turnpike::packet {

/// Bytes of layer 3: RFC 791 section 3.2.
constexpr uint32_t least_ipv4_mtu = 68;

/// Payload bytes of every fragment except the last: a multiple of 8.
///
/// mtu  of the next link, bytes of layer 3; at least least_ipv4_mtu
constexpr uint32_t bytes_of_piece(uint32_t header_bytes, uint32_t mtu) noexcept {
    return (mtu - header_bytes) & ~7U;
}

/// The part of a datagram's payload in one fragment.
struct piece {
    uint32_t offset = 0;  ///< bytes; a multiple of 8
    uint32_t bytes = 0;
    bool last = false;
};

/// Turn a datagram's header into a fragment's; the datagram may be a fragment itself. In later
/// fragments, options without the copied flag become no-operations (the header keeps its length).
///
/// header  [header_bytes] with options, valid
void make_piece(uint8_t* header, uint32_t header_bytes, const piece& p) noexcept;

}  // namespace turnpike::packet
