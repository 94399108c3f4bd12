// SPDX-License-Identifier: BSD-3-Clause
// Is this a build with a sanitizer? Random tests do a tenth there: what counts is which code they reach.
// What looks for races does all of it under TSan, and less where only addresses are watched.
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

/// In a guest of devtools/avx512, where an instruction takes 50 times as long.
inline const bool emulated = std::getenv("TURNPIKE_EMULATED") != nullptr;
inline const bool slow = sanitized || emulated;

}  // namespace turnpike::test
