// SPDX-License-Identifier: BSD-3-Clause
#include "fib/kernel/lookup6.hpp"
#include "fib/kernel/lookup6.inl.hpp"
#include "isa/simd/avx2.hpp"

namespace turnpike::fib::avx2 {

void lookup6(const view& t, const uint8_t* dst, uint64_t* hop, uint32_t n) noexcept {
    lookup6_burst<::avx2>(t, dst, hop, n);
}

}  // namespace turnpike::fib::avx2
