// SPDX-License-Identifier: BSD-3-Clause
// The most recent endpoints, and a SIMD search of a burst's marks among them.
//
// Source: "Writing Packet Processing Software with Intel AVX-512", section 5.2, which compares one
// packet with eight endpoints by one instruction. Here one endpoint is compared with four packets
// (or two, or eight): as many compares, but the results of a burst are vectors, there is no branch
// per packet, and unused entries are not compared.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "isa/isa.hpp"

namespace turnpike::tunnel {

inline constexpr uint32_t burst_endpoints = 32;  ///< maximum keys per lookup
inline constexpr uint32_t cached_endpoints = 8;
/// Arrays of a burst have capacity for n rounded up to a multiple of this.
inline constexpr uint32_t endpoint_lanes = 16;

struct alignas(64) last_endpoints {
    std::array<uint64_t, cached_endpoints> mark;   ///< unique
    std::array<uint64_t, cached_endpoints> value;  ///< the endpoint's value; not 0
    uint32_t used = 0;                             ///< number of entries in use, from the first
};

/// mark    [n, rounded up to a multiple of endpoint_lanes] entries beyond n may have any value
/// value   [likewise] out; 0: the mark is not cached. Entries beyond n are undefined
/// n       up to burst_endpoints
/// Returns  bit i, below n: value[i] is not 0
/// Threads  any. Errors none.
using find_function = uint32_t(const last_endpoints& last, const uint64_t* mark, uint64_t* value,
                               uint32_t n) noexcept;

/// True if all keys of IPv6 endpoints (endpoint.hpp) equal the first one.
/// key  [n] of long_key_words each; n at least 1
/// Threads  any. Errors none.
using same_function = bool(const uint64_t* key, uint32_t n) noexcept;
inline constexpr uint32_t long_key_words = 5;

struct finder {
    find_function* find;
    same_function* same;
};

/// The kernels, best first.
std::span<const isa::kernel<const finder>> find_kernels() noexcept;

}  // namespace turnpike::tunnel
