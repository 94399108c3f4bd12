// SPDX-License-Identifier: BSD-3-Clause
#include "exact/kernel/lookup.hpp"
#include "exact/kernel/lookup.inl.hpp"
#include "exact/kernel/words_avx2.hpp"

namespace turnpike::exact::avx2 {

uint64_t lookup(const view& t, const void* keys, void* values, uint32_t n) noexcept {
    return lookup_burst<words_avx2>(t, static_cast<const uint8_t*>(keys), values, n);
}

}  // namespace turnpike::exact::avx2
