// SPDX-License-Identifier: BSD-3-Clause
// Whether the build has a sanitizer. Random tests then do a tenth of their iterations: code coverage matters there, not
// repetition. Tests for races do all iterations under TSan, and fewer under other sanitizers.
#pragma once

#include <cstdlib>

namespace turnpike::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool address_sanitized = true;
#else
inline constexpr bool address_sanitized = false;
#endif
#else
inline constexpr bool address_sanitized = false;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = address_sanitized;
#endif

/// In a guest of devtools/avx512, which is 50 times slower per instruction.
inline const bool emulated = std::getenv("TURNPIKE_EMULATED") != nullptr;
inline const bool slow = sanitized || emulated;

}  // namespace turnpike::test
