// SPDX-License-Identifier: BSD-3-Clause
// The SIMD width that EAL permits (--force-max-simd-bitwidth), for isa::choose().
#pragma once

#include <cstdint>

namespace turnpike::eal {

/// Bits: 64, 128, 256 or 512. Requires EAL started. Threads any. Errors none.
uint16_t max_simd_bitwidth() noexcept;

/// Permit another width from here on. Bits as above. Threads: control.
///
/// Returns false if --force-max-simd-bitwidth set a different width.
bool permit_simd_bitwidth(uint16_t bits) noexcept;

}  // namespace turnpike::eal
