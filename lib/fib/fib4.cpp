// SPDX-License-Identifier: BSD-3-Clause
#include "fib/fib4.hpp"

#include "fib/prefix_fib.inl.hpp"

namespace turnpike::fib {

TURNPIKE_KERNEL(lookup4_function, lookup4)

std::span<const isa::kernel<lookup4_function>> lookup4_kernels() noexcept {
    // Ordered by the results of `turnpike-bench-fib` (doc/bench-fib.md).
    static constexpr isa::kernel<lookup4_function> table[] = {
        TURNPIKE_KERNEL_ROWS(lookup4),
    };
    return table;
}

template class prefix_fib<ipv4_family>;

}  // namespace turnpike::fib
