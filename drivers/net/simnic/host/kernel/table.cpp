// SPDX-License-Identifier: BSD-3-Clause
#include "host/kernel/burst.hpp"

namespace turnpike::simnic {

std::span<const isa::kernel<burst_kernels_function>> burst_kernel_table() noexcept {
    static constexpr isa::kernel<burst_kernels_function> table[] = {TURNPIKE_KERNEL_ROWS(burst)};
    return table;
}

}  // namespace turnpike::simnic
