// SPDX-License-Identifier: BSD-3-Clause
// `v128`: 128-bit vectors for code that is compiled once, for DPDK's baseline (x86: SSE4.2; AArch64: NEON). The
// operations are those of sse42.hpp.
#pragma once

#if defined(__x86_64__)
#include "isa/simd/sse42.hpp"

namespace {
using v128 = sse42;
}
#elif defined(__aarch64__)
#include "isa/simd/neon.hpp"

namespace {
using v128 = neon;
}
#else
#error "no 128-bit vectors for this architecture: add isa/simd/<isa>.hpp"
#endif
