// SPDX-License-Identifier: BSD-3-Clause
// Is this a build with a sanitizer? Random tests do a tenth there: what counts is which code they reach.
#pragma once

namespace turnpike::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace turnpike::test
