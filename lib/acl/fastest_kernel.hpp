// SPDX-License-Identifier: BSD-3-Clause
// Selects a kernel, and bit vectors or trees, by measuring them with a table's rules (isa/fastest.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "acl/layout.hpp"
#include "isa/isa.hpp"

namespace turnpike::acl {

struct fastest_search {
    const isa::kernel<classify_function>& kernel;
    bool vectors;  ///< the bit vectors are not slower than the trees
};

/// Classifies the keys with each kernel that isa::fastest() measures, by the trees and by bit vectors if the view has any:
/// some 50 microseconds each. Without keys it returns the first kernel that is permitted.
///
/// keys     words in host order, as of trial_keys(); none: nothing is measured
/// Threads  any that may read the view. Errors none; allocates nothing.
template <unsigned Words>
fastest_search find_fastest(const view& table, std::span<const std::array<uint32_t, Words>> keys,
                            uint16_t max_simd_bitwidth) noexcept;

}  // namespace turnpike::acl
