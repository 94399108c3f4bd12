// SPDX-License-Identifier: BSD-3-Clause
// The SIMD width that EAL permits (--force-max-simd-bitwidth), for isa::choose().
#pragma once

#include <cstdint>

namespace turnpike::eal {

/// Bits: 64, 128, 256 or 512. Requires EAL started. Threads any. Errors none.
uint16_t max_simd_bitwidth() noexcept;

}  // namespace turnpike::eal
