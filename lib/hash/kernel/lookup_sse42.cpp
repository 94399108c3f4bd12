// SPDX-License-Identifier: BSD-3-Clause
#include "hash/kernel/lookup.hpp"
#include "hash/kernel/lookup.inl.hpp"
#include "hash/kernel/words_sse42.hpp"

namespace turnpike::hash::sse42 {

uint64_t lookup(const view& t, const void* keys, void* values, uint32_t n) noexcept {
    return lookup_burst<words_sse42>(t, static_cast<const uint8_t*>(keys), values, n);
}

}  // namespace turnpike::hash::sse42
