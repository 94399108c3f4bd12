// SPDX-License-Identifier: BSD-3-Clause
// The instruction set that a kernel is compiled for: TURNPIKE_ISA, a token of isa_flags (root meson.build).
#pragma once

#ifndef TURNPIKE_ISA
#error "a kernel is compiled once per instruction set: list it in `kernels` (lib/meson.build)"
#endif

// clang-format off
#define TURNPIKE_ISA_PASTE_(a, b) a##b
#define TURNPIKE_ISA_PASTE(a, b) TURNPIKE_ISA_PASTE_(a, b)
#define TURNPIKE_ISA_TEXT_(x) #x
/// "FOLDER/<token>.hpp", for #include: TURNPIKE_ISA_TEXT(FOLDER/TURNPIKE_ISA.hpp).
#define TURNPIKE_ISA_TEXT(x) TURNPIKE_ISA_TEXT_(x)
/// PREFIX followed by the token: an identifier.
#define TURNPIKE_ISA_NAME(prefix) TURNPIKE_ISA_PASTE(prefix, TURNPIKE_ISA)
// clang-format on
