// SPDX-License-Identifier: BSD-3-Clause
#include "exact/kernel/lookup.hpp"
#include "exact/kernel/lookup.inl.hpp"
#include "exact/kernel/words_sse42.hpp"

namespace turnpike::exact::sse42 {

uint64_t lookup(const view& t, const void* keys, void* values, uint32_t n) noexcept {
    return lookup_burst<words_sse42>(t, static_cast<const uint8_t*>(keys), values, n);
}

}  // namespace turnpike::exact::sse42
