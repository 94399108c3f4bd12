// SPDX-License-Identifier: BSD-3-Clause
#include "tunnel/last_endpoints.hpp"

#include "tunnel/kernel/find.hpp"

namespace turnpike::tunnel {

std::span<const isa::kernel<const finder>> find_kernels() noexcept {
    static constexpr finder by_avx512{avx512::find, avx512::same}, by_avx2{avx2::find, avx2::same},
        by_sse42{sse42::find, sse42::same}, by_scalar{scalar::find, scalar::same};
    static constexpr isa::kernel<const finder> table[] = {
        {"avx512", isa::feature_avx512, 512, &by_avx512},
        {"avx2", isa::feature_avx2, 256, &by_avx2},
        {"sse42", isa::feature_sse42, 128, &by_sse42},
        {"scalar", isa::feature_none, 64, &by_scalar},
    };
    return table;
}

}  // namespace turnpike::tunnel
