// SPDX-License-Identifier: BSD-3-Clause
#include "fib/fib6.hpp"

#include "fib/prefix_fib.inl.hpp"

namespace turnpike::fib {

TURNPIKE_KERNEL(lookup6_function, lookup6)

std::span<const isa::kernel<lookup6_function>> lookup6_kernels() noexcept {
    // Ordered by the results of `turnpike-bench-fib` (doc/bench-fib.md).
    static constexpr isa::kernel<lookup6_function> table[] = {
        TURNPIKE_KERNEL_ROWS(lookup6),
    };
    return table;
}

template class prefix_fib<ipv6_family>;

}  // namespace turnpike::fib
