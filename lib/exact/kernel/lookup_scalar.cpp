// SPDX-License-Identifier: BSD-3-Clause
#include "exact/kernel/lookup.hpp"
#include "exact/kernel/lookup.inl.hpp"
#include "exact/kernel/words_scalar.hpp"

namespace turnpike::exact::scalar {

uint64_t lookup(const view& t, const void* keys, void* values, uint32_t n) noexcept {
    return lookup_burst<words_scalar>(t, static_cast<const uint8_t*>(keys), values, n);
}

}  // namespace turnpike::exact::scalar
