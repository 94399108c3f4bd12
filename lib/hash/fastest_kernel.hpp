// SPDX-License-Identifier: BSD-3-Clause
// Selects a kernel by measuring it (isa/fastest.hpp). A table is empty when its kernel is selected, so
// another one of the same shape is measured.
#pragma once

#include "hash/store.hpp"

namespace turnpike::hash {

/// The fastest kernel for tables of this shape: measured at the first call for a shape and a width, in
/// half a millisecond, and remembered. Without memory the first one that is permitted.
///
/// Threads  any
const isa::kernel<lookup_function>& fastest_kernel(shape form, uint16_t max_simd_bitwidth) noexcept;

}  // namespace turnpike::hash
