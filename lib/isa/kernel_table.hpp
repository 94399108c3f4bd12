// SPDX-License-Identifier: BSD-3-Clause
// A kernel's functions, one per instruction set, and the rows of its selection table.
#pragma once

#include "isa/isa.hpp"

/// Declare FUNCTION, of a function type (or an object, of an extern type), in a namespace per instruction set.
#if defined(__aarch64__)
#define TURNPIKE_KERNEL(type, function) \
    namespace scalar {                  \
    type function;                      \
    }                                   \
    namespace neon {                    \
    type function;                      \
    }
#else
#define TURNPIKE_KERNEL(type, function) \
    namespace scalar {                  \
    type function;                      \
    }                                   \
    namespace sse42 {                   \
    type function;                      \
    }                                   \
    namespace avx2 {                    \
    type function;                      \
    }                                   \
    namespace avx512 {                  \
    type function;                      \
    }
#endif

/// The row of the instruction set TOKEN; its SIMD width is DPDK's (rte_vect.h).
#define TURNPIKE_KERNEL_ROW(token, width, function) \
    { #token, ::turnpike::isa::feature_##token, width, &token::function }

/// The rows without AVX-512, and all rows: the table lists the widest first.
#if defined(__aarch64__)
#define TURNPIKE_KERNEL_ROWS_TO_AVX2(function) \
    TURNPIKE_KERNEL_ROW(neon, 128, function), TURNPIKE_KERNEL_ROW(scalar, 64, function)
#define TURNPIKE_KERNEL_ROWS(function) TURNPIKE_KERNEL_ROWS_TO_AVX2(function)
#else
#define TURNPIKE_KERNEL_ROWS_TO_AVX2(function)                                           \
    TURNPIKE_KERNEL_ROW(avx2, 256, function), TURNPIKE_KERNEL_ROW(sse42, 128, function), \
        TURNPIKE_KERNEL_ROW(scalar, 64, function)
#define TURNPIKE_KERNEL_ROWS(function) \
    TURNPIKE_KERNEL_ROW(avx512, 512, function), TURNPIKE_KERNEL_ROWS_TO_AVX2(function)
#endif
