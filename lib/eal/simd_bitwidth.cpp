// SPDX-License-Identifier: BSD-3-Clause
#include "eal/simd_bitwidth.hpp"

extern "C" {  // DPDK 22.11's rte_vect.h lacks extern "C": include it only here
#include <rte_vect.h>
}

namespace turnpike::eal {

uint16_t max_simd_bitwidth() noexcept { return rte_vect_get_max_simd_bitwidth(); }

bool permit_simd_bitwidth(uint16_t bits) noexcept {
    return rte_vect_set_max_simd_bitwidth(bits) == 0 || max_simd_bitwidth() == bits;
}

}  // namespace turnpike::eal
