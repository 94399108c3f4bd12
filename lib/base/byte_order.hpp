// SPDX-License-Identifier: BSD-3-Clause
// Big-endian fields of packets, read and written at any alignment.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace turnpike {

constexpr uint16_t swap_bytes(uint16_t v) noexcept { return __builtin_bswap16(v); }
constexpr uint32_t swap_bytes(uint32_t v) noexcept { return __builtin_bswap32(v); }
constexpr uint64_t swap_bytes(uint64_t v) noexcept { return __builtin_bswap64(v); }

/// Convert between host and network byte order; the same operation both ways.
template <class T>
constexpr T big_endian(T v) noexcept {
    if constexpr (std::endian::native == std::endian::big) return v;
    return swap_bytes(v);
}

/// Read a big-endian T from any address.
template <class T>
inline T load_be(const void* from) noexcept {
    T v;
    std::memcpy(&v, from, sizeof v);
    return big_endian(v);
}

/// Write a T big-endian to any address.
template <class T>
inline void store_be(void* to, T v) noexcept {
    v = big_endian(v);
    std::memcpy(to, &v, sizeof v);
}

/// A big-endian field of a wire format: no alignment, no padding; converts to and from T.
template <class T>
struct big_endian_field {
    uint8_t bytes[sizeof(T)];

    operator T() const noexcept { return load_be<T>(bytes); }
    big_endian_field& operator=(T v) noexcept {
        store_be<T>(bytes, v);
        return *this;
    }
};
using be16 = big_endian_field<uint16_t>;
using be32 = big_endian_field<uint32_t>;

}  // namespace turnpike
