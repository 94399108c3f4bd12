// SPDX-License-Identifier: BSD-3-Clause
#include "packet/plain_ipv4.hpp"

#include "packet/kernel/plain_ipv4.hpp"

namespace turnpike::packet {

std::span<const isa::kernel<plain_ipv4_function>> plain_ipv4_kernels() noexcept {
    static constexpr isa::kernel<plain_ipv4_function> table[] = {
        {"avx512", isa::feature_avx512, 512, avx512::find_plain_ipv4},
        {"avx2", isa::feature_avx2, 256, avx2::find_plain_ipv4},
        {"sse42", isa::feature_sse42, 128, sse42::find_plain_ipv4},
        {"scalar", isa::feature_none, 64, scalar::find_plain_ipv4},
    };
    return table;
}

}  // namespace turnpike::packet
