// SPDX-License-Identifier: BSD-3-Clause
// IPv4 datagrams in pieces: RFC 791 section 3.2, "An Example Fragmentation Procedure".
#pragma once

#include <cstdint>

namespace turnpike::packet {

/// Bytes of data of every piece but the last: a multiple of 8.
/// mtu  of the next link, bytes of layer 3; at least 68 (RFC 791 section 3.2)
constexpr uint32_t bytes_of_piece(uint32_t header_bytes, uint32_t mtu) noexcept {
    return (mtu - header_bytes) & ~7U;
}

/// One piece's data in the datagram's.
struct piece {
    uint32_t offset = 0;  ///< bytes; a multiple of 8
    uint32_t bytes = 0;
    bool last = false;
};

/// Make a datagram's header one of a piece of it, which may be a piece already. Behind the first piece options
/// that are not to be copied are no-operations (the header keeps its length).
/// header  [header_bytes] with options, valid
void make_piece(uint8_t* header, uint32_t header_bytes, const piece& p) noexcept;

}  // namespace turnpike::packet
