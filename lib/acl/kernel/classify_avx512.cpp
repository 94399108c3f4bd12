// SPDX-License-Identifier: BSD-3-Clause
#include "acl/kernel/classify.hpp"
#include "acl/kernel/classify.inl.hpp"
#include "isa/simd/avx512.hpp"
#include "isa/simd/avx512vl.hpp"

namespace turnpike::acl::avx512 {

void classify_x16(const view& t, const uint8_t* const* data, uint32_t* results, uint32_t n,
                  uint32_t categories) noexcept {
    classify_burst<::avx512vl>(t, data, results, n, categories);
}

void classify_x32(const view& t, const uint8_t* const* data, uint32_t* results, uint32_t n,
                  uint32_t categories) noexcept {
    classify_burst<::avx512>(t, data, results, n, categories);
}

}  // namespace turnpike::acl::avx512
