// SPDX-License-Identifier: BSD-3-Clause
// The kernels' entry points, for the selection table in fib4.cpp.
#pragma once

#include <cstdint>

#include "fib/layout.hpp"

namespace turnpike::fib {
// clang-format off
namespace scalar { void lookup4(const view&, const uint32_t*, uint64_t*, uint32_t) noexcept; }
namespace sse42 { void lookup4(const view&, const uint32_t*, uint64_t*, uint32_t) noexcept; }
namespace avx2 { void lookup4(const view&, const uint32_t*, uint64_t*, uint32_t) noexcept; }
namespace avx512 { void lookup4(const view&, const uint32_t*, uint64_t*, uint32_t) noexcept; }
// clang-format on
}  // namespace turnpike::fib
