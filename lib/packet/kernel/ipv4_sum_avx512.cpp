// SPDX-License-Identifier: BSD-3-Clause
#include "isa/simd/avx512.hpp"
#include "packet/kernel/ipv4_sum.hpp"
#include "packet/kernel/ipv4_sum.inl.hpp"

namespace turnpike::packet::avx512 {

void ipv4_sum(const uint8_t* const* header, const uint8_t* bytes, uint16_t* sum,
              uint32_t n) noexcept {
    sum_burst<::avx512>(header, bytes, sum, n);
}

}  // namespace turnpike::packet::avx512
