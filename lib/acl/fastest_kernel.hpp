// SPDX-License-Identifier: BSD-3-Clause
// Selects a kernel by measuring it with a table's rules (isa/fastest.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "acl/layout.hpp"
#include "isa/isa.hpp"

namespace turnpike::acl {

/// Classifies the keys with each kernel that isa::fastest() measures: some 50 microseconds each.
/// Without keys it returns the first one that is permitted.
///
/// keys     words in host order, as of trial_keys(); none: nothing is measured
/// Threads  any that may read the view. Errors none; allocates nothing.
template <unsigned Words>
const isa::kernel<classify_function>& fastest_kernel(
    const view& table, std::span<const std::array<uint32_t, Words>> keys,
    uint16_t max_simd_bitwidth) noexcept;

}  // namespace turnpike::acl
