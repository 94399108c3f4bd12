// SPDX-License-Identifier: BSD-3-Clause
// `simd64`: the operations on 64-bit lanes of the instruction set that a kernel is compiled for
// (isa/simd/simd.hpp).
#pragma once

#include "isa/simd/token.hpp"
// clang-format off
#include TURNPIKE_ISA_TEXT(isa/simd64/TURNPIKE_ISA.hpp)
// clang-format on

namespace {
using simd64 = TURNPIKE_ISA_NAME(words_);
}
