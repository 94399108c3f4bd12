// SPDX-License-Identifier: BSD-3-Clause
#include "packet/plain_ipv4.hpp"

#include "isa/kernel_table.hpp"

namespace turnpike::packet {

TURNPIKE_KERNEL(plain_ipv4_function, find_plain_ipv4)

std::span<const isa::kernel<plain_ipv4_function>> plain_ipv4_kernels() noexcept {
    static constexpr isa::kernel<plain_ipv4_function> table[] = {
        TURNPIKE_KERNEL_ROWS(find_plain_ipv4),
    };
    return table;
}

}  // namespace turnpike::packet
