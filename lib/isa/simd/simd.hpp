// SPDX-License-Identifier: BSD-3-Clause
// `simd`: the operations on 32-bit lanes (sse42.hpp defines them) of the instruction set that a kernel is
// compiled for.
#pragma once

#include "isa/simd/token.hpp"
// clang-format off
#include TURNPIKE_ISA_TEXT(isa/simd/TURNPIKE_ISA.hpp)
// clang-format on

namespace {
using simd = ::TURNPIKE_ISA;
}
