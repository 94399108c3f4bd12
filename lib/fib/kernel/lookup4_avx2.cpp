// SPDX-License-Identifier: BSD-3-Clause
#include "fib/kernel/lookup4.hpp"
#include "fib/kernel/lookup4.inl.hpp"
#include "isa/simd/avx2.hpp"

namespace turnpike::fib::avx2 {

void lookup4(const view& t, const uint32_t* dst, uint64_t* hop, uint32_t n) noexcept {
    lookup4_burst<::avx2>(t, dst, hop, n);
}

}  // namespace turnpike::fib::avx2
