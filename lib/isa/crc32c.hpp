// SPDX-License-Identifier: BSD-3-Clause
// CRC-32C (Castagnoli, RFC 3720 section 12.1) of eight bytes by one instruction: a hash for caches. A sender can
// construct collisions, so whole keys are compared.
#pragma once

#if defined(__x86_64__)
#include <nmmintrin.h>
#else
#include <arm_acle.h>
#endif

#include <cstdint>

namespace turnpike::isa {

/// crc  the value so far, 0 at first; neither inverted here nor at the end
inline uint32_t crc32c(uint32_t crc, uint64_t bytes) noexcept {
#if defined(__x86_64__)
    return static_cast<uint32_t>(_mm_crc32_u64(crc, bytes));
#else
    return __crc32cd(crc, bytes);
#endif
}

}  // namespace turnpike::isa
