// SPDX-License-Identifier: BSD-3-Clause
#include "acl/kernel/classify.hpp"
#include "acl/kernel/classify.inl.hpp"
#include "isa/simd/scalar.hpp"

namespace turnpike::acl::scalar {

void classify(const view& t, const uint8_t* const* data, uint32_t* results, uint32_t n,
              uint32_t categories) noexcept {
    classify_burst<::scalar>(t, data, results, n, categories);
}

}  // namespace turnpike::acl::scalar
