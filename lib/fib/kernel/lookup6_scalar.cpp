// SPDX-License-Identifier: BSD-3-Clause
#include "fib/kernel/lookup6.hpp"
#include "fib/kernel/lookup6.inl.hpp"
#include "isa/simd/scalar.hpp"

namespace turnpike::fib::scalar {

void lookup6(const view& t, const uint8_t* dst, uint64_t* hop, uint32_t n) noexcept {
    lookup6_burst<::scalar>(t, dst, hop, n);
}

}  // namespace turnpike::fib::scalar
