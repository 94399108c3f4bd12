// SPDX-License-Identifier: BSD-3-Clause
// The kernels' entry points, for the selection table in store.cpp.
#pragma once

#include <cstdint>

#include "hash/layout.hpp"

namespace turnpike::hash {
// clang-format off
namespace scalar { uint64_t lookup(const view&, const void*, void*, uint32_t) noexcept; }
namespace sse42 { uint64_t lookup(const view&, const void*, void*, uint32_t) noexcept; }
namespace avx2 { uint64_t lookup(const view&, const void*, void*, uint32_t) noexcept; }
namespace avx512 { uint64_t lookup(const view&, const void*, void*, uint32_t) noexcept; }
// clang-format on
}  // namespace turnpike::hash
