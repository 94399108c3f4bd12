// SPDX-License-Identifier: BSD-3-Clause
#include "hash/kernel/lookup.hpp"
#include "hash/kernel/lookup.inl.hpp"
#include "hash/kernel/words_avx2.hpp"

namespace turnpike::hash::avx2 {

uint64_t lookup(const view& t, const void* keys, void* values, uint32_t n) noexcept {
    return lookup_burst<words_avx2>(t, static_cast<const uint8_t*>(keys), values, n);
}

}  // namespace turnpike::hash::avx2
