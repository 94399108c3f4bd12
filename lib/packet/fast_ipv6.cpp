// SPDX-License-Identifier: BSD-3-Clause
#include "packet/fast_ipv6.hpp"

#include "isa/kernel_table.hpp"

namespace turnpike::packet {

TURNPIKE_KERNEL(fast_ipv6_function, find_fast_ipv6)

std::span<const isa::kernel<fast_ipv6_function>> fast_ipv6_kernels() noexcept {
    // Vectors of 128 bits at any permitted width: programs with DPDK are compiled for them (isa/simd/v128.hpp).
    static constexpr isa::kernel<fast_ipv6_function> table[] = {
#if defined(__aarch64__)
        TURNPIKE_KERNEL_ROW(neon, 64, find_fast_ipv6),
#else
        TURNPIKE_KERNEL_ROW(avx512, 512, find_fast_ipv6),
        TURNPIKE_KERNEL_ROW(avx2, 256, find_fast_ipv6),
        TURNPIKE_KERNEL_ROW(sse42, 64, find_fast_ipv6),
#endif
        TURNPIKE_KERNEL_ROW(scalar, 64, find_fast_ipv6),
    };
    return table;
}

}  // namespace turnpike::packet
