// SPDX-License-Identifier: BSD-3-Clause
// `blocks`: the operations on 16-byte blocks (scalar.hpp) of the instruction set that a kernel is compiled for
// (isa/simd/simd.hpp).
#pragma once

#include "isa/simd/token.hpp"
// clang-format off
#include TURNPIKE_ISA_TEXT(isa/blocks/TURNPIKE_ISA.hpp)
// clang-format on

namespace {
using blocks = TURNPIKE_ISA_NAME(blocks_);
}
