// SPDX-License-Identifier: BSD-3-Clause
#include "acl/kernel/classify.hpp"
#include "acl/kernel/classify.inl.hpp"
#include "isa/simd/sse42.hpp"

namespace turnpike::acl::sse42 {

void classify(const view& t, const uint8_t* const* data, uint32_t* results, uint32_t n,
              uint32_t categories) noexcept {
    classify_burst<::sse42>(t, data, results, n, categories);
}

}  // namespace turnpike::acl::sse42
