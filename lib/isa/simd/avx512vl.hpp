// SPDX-License-Identifier: BSD-3-Clause
// SIMD words, 256 bits with AVX-512's instructions: avx2.hpp where they bring nothing. What each
// means: sse42.hpp.
#pragma once

#include "isa/simd/avx2.hpp"

namespace {

struct avx512vl : avx2 {
    struct compressor {
        __mmask8 chosen;
        explicit compressor(uint32_t mask) noexcept : chosen(static_cast<__mmask8>(mask)) {}
        void store(uint32_t* to, avx2 a) const noexcept {
            // Not the instruction that stores: Zen 4 works it off one lane at a time.
            avx2::store(to, {_mm256_maskz_compress_epi32(chosen, a.v)});
        }
    };
};

}  // namespace
