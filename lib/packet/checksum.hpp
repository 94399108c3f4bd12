// SPDX-License-Identifier: BSD-3-Clause
// Internet checksums (RFC 1071), one at a time and for a burst of IPv4 headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/byte_order.hpp"
#include "isa/isa.hpp"

namespace turnpike::packet {

/// A one's complement sum over words in host byte order, with end-around carry: byte order only
/// affects the final result (RFC 1071 section 2 (B)).
///
/// Threads any. Errors none.
class native_sum {
  public:
    /// bytes  of any length; an odd length is padded with zero, so it must be the last call
    void add(const uint8_t* from, size_t bytes) noexcept {
        for (; bytes >= 8; bytes -= 8) add(next<uint64_t>(from));
        if ((bytes & 4) != 0) add(next<uint32_t>(from));
        if ((bytes & 2) != 0) add(next<uint16_t>(from));
        if ((bytes & 1) != 0) add(big_endian(static_cast<uint16_t>(*from << 8)));
    }
    /// Add words in memory order.
    void add(uint64_t words) noexcept {
        if (__builtin_add_overflow(sum_, words, &sum_)) ++sum_;
    }

    /// Folded to 16 bits, in memory order. 0xffff is the same in both orders.
    [[nodiscard]] uint16_t folded() const noexcept {
        uint64_t sum = (sum_ & 0xffff'ffff) + (sum_ >> 32);
        sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
        sum = (sum & 0xffff) + (sum >> 16);
        return static_cast<uint16_t>((sum & 0xffff) + (sum >> 16));
    }

  private:
    template <class Word>
    static Word next(const uint8_t*& from) noexcept {
        Word word;
        std::memcpy(&word, from, sizeof word);
        from += sizeof word;
        return word;
    }
    uint64_t sum_ = 0;
};

/// A running one's complement sum of big-endian 16-bit words, not folded yet.
/// bytes   any length; an odd last byte is padded with zero (RFC 1071 section 4.1)
/// Threads any. Errors none.
uint32_t sum_bytes(std::span<const uint8_t> bytes, uint32_t sum = 0) noexcept;

/// Fold a running sum to 16 bits.
constexpr uint16_t fold(uint32_t sum) noexcept {
    sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<uint16_t>((sum & 0xffff) + (sum >> 16));
}

/// The checksum field's value, host order, for bytes whose checksum field is zero.
inline uint16_t checksum(std::span<const uint8_t> bytes) noexcept {
    return static_cast<uint16_t>(~fold(sum_bytes(bytes)));
}

/// Update a checksum for a change of one 16-bit word (RFC 1624, equation 3); all in host order.
constexpr uint16_t update_checksum(uint16_t checksum, uint16_t before, uint16_t after) noexcept {
    const uint32_t sum =
        static_cast<uint16_t>(~checksum) + uint32_t{static_cast<uint16_t>(~before)} + after;
    return static_cast<uint16_t>(~fold(sum));
}

/// One's complement sum of a burst of IPv4 headers, folded to 16 bits.
/// header   [n] first byte of each header, any alignment
/// bytes    [n] header length in bytes, IHL * 4: 20 to 60, all readable
/// sum      [n] out; 0xffff if and only if the header's checksum is correct (RFC 1071 section 1)
/// Requires any n
/// Threads  any. Errors none.
using ipv4_sum_function = void(const uint8_t* const* header, const uint8_t* bytes, uint16_t* sum,
                               uint32_t n) noexcept;

/// The kernels, best first.
std::span<const isa::kernel<ipv4_sum_function>> ipv4_sum_kernels() noexcept;

}  // namespace turnpike::packet
