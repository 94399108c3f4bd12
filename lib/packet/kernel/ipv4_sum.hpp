// SPDX-License-Identifier: BSD-3-Clause
// The kernels' entry points, for the selection table in checksum.cpp.
#pragma once

#include <cstdint>

namespace turnpike::packet {
// clang-format off
namespace scalar { void ipv4_sum(const uint8_t* const*, const uint8_t*, uint16_t*, uint32_t) noexcept; }
namespace sse42 { void ipv4_sum(const uint8_t* const*, const uint8_t*, uint16_t*, uint32_t) noexcept; }
namespace avx2 { void ipv4_sum(const uint8_t* const*, const uint8_t*, uint16_t*, uint32_t) noexcept; }
namespace avx512 { void ipv4_sum(const uint8_t* const*, const uint8_t*, uint16_t*, uint32_t) noexcept; }
// clang-format on
}  // namespace turnpike::packet
