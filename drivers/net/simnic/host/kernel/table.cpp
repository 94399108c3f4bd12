// SPDX-License-Identifier: BSD-3-Clause
#include "host/kernel/burst.hpp"

namespace turnpike::simnic {

std::span<const isa::kernel<burst_kernels_function>> burst_kernel_table() noexcept {
    static constexpr isa::kernel<burst_kernels_function> table[] = {
        {"avx512", isa::feature_avx512, 512, avx512::burst},
        {"avx2", isa::feature_avx2, 256, avx2::burst},
        {"sse42", isa::feature_sse42, 128, sse42::burst},
        {"scalar", isa::feature_none, 64, scalar::burst},
    };
    return table;
}

}  // namespace turnpike::simnic
