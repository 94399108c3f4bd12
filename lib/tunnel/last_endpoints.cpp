// SPDX-License-Identifier: BSD-3-Clause
#include "tunnel/last_endpoints.hpp"

#include "isa/kernel_table.hpp"

namespace turnpike::tunnel {

TURNPIKE_KERNEL(extern const finder, endpoint_finder)

std::span<const isa::kernel<const finder>> find_kernels() noexcept {
    static constexpr isa::kernel<const finder> table[] = {TURNPIKE_KERNEL_ROWS(endpoint_finder)};
    return table;
}

}  // namespace turnpike::tunnel
