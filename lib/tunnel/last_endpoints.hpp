// SPDX-License-Identifier: BSD-3-Clause
// The last endpoints that packets came from, and a burst's marks compared with all of them by SIMD.
//
// Source: "Writing Packet Processing Software with Intel AVX-512", section 5.2, which compares one packet
// with eight endpoints by one instruction. Here one endpoint is compared with four packets (or two, or
// eight): as many compares, but the answers of a burst are vectors, nothing is asked for each packet, and
// endpoints that are not there are not compared.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "isa/isa.hpp"

namespace turnpike::tunnel {

inline constexpr uint32_t burst_endpoints = 32;  ///< looked up at once, at most
inline constexpr uint32_t cached_endpoints = 8;
/// Arrays of a burst have room for so many more than there are that their number is a multiple of this.
inline constexpr uint32_t endpoint_lanes = 16;

struct alignas(64) last_endpoints {
    std::array<uint64_t, cached_endpoints> mark;   ///< each at most once
    std::array<uint64_t, cached_endpoints> value;  ///< what it leads to; not 0
    uint32_t used = 0;                             ///< the first ones
};

/// mark    [n, rounded up to a multiple of endpoint_lanes] those beyond n may be any
/// value   [likewise] out; 0: its mark is not among the last ones. Beyond n they mean nothing
/// n       up to burst_endpoints
/// Answers  bit i, below n: value[i] is not 0
/// Threads  any. Errors none.
using find_function = uint32_t(const last_endpoints& last, const uint64_t* mark, uint64_t* value,
                               uint32_t n) noexcept;

/// Are these keys of IPv6 endpoints (endpoint.hpp) all the first one?
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
