// SPDX-License-Identifier: BSD-3-Clause
#include "packet/fast_ipv4.hpp"

#include "isa/kernel_table.hpp"

namespace turnpike::packet {

TURNPIKE_KERNEL(fast_ipv4_function, find_fast_ipv4)

std::span<const isa::kernel<fast_ipv4_function>> fast_ipv4_kernels() noexcept {
    static constexpr isa::kernel<fast_ipv4_function> table[] = {
        TURNPIKE_KERNEL_ROWS(find_fast_ipv4),
    };
    return table;
}

}  // namespace turnpike::packet
