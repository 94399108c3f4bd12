// SPDX-License-Identifier: BSD-3-Clause
// Selects a kernel by measuring it: which one is fastest depends on the CPU (a 512-bit operation of a
// Zen 4 takes two cycles, of a Zen 5 one) and on the length of the table's leaves.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "acl/layout.hpp"
#include "isa/isa.hpp"

namespace turnpike::acl {

/// Classifies the keys with each kernel for 256 bits or more that the CPU and the width permit, some
/// rounds by turns: some 50 microseconds each. Returns the fastest; the first one that is permitted
/// if none is faster by 3 percent, or if there is nothing to compare.
///
/// keys     words in host order, as of trial_keys(); none: nothing is measured
/// Threads  any that may read the view. Errors none; allocates nothing.
template <unsigned Words>
const isa::kernel<classify_function>& fastest_kernel(
    const view& table, std::span<const std::array<uint32_t, Words>> keys,
    uint16_t max_simd_bitwidth) noexcept;

}  // namespace turnpike::acl
