// SPDX-License-Identifier: BSD-3-Clause
// Four packets per register: each quarter holds one descriptor; after a permutation, one store
// writes a half into an mbuf.
#include <immintrin.h>

#include "host/kernel/burst.inl.hpp"

namespace {

inline __m128i load_quarter(const void* from) noexcept {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
}
inline __m512i four(__m128i a, __m128i b, __m128i c, __m128i e) noexcept {
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(c), e, 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
inline __m512i four_times(__m128i a) noexcept { return _mm512_broadcast_i32x4(a); }

inline __m512i flags_table() noexcept {
    char t[16];
    for (uint32_t i = 0; i < 16; ++i) t[i] = static_cast<char>(checksum_flag(i, true));
    return four_times(load_quarter(t));
}

struct word {
    static constexpr uint32_t group = 8;

    template <unsigned Words>
    static __m512i answers(const descriptor* d) noexcept {
        return four(load_quarter(d), load_quarter(d + Words), load_quarter(d + 2 * Words),
                    load_quarter(d + 3 * Words));
    }

    /// Bits 0 to 3: descriptors that are done without error.
    static uint32_t good_ones(__m512i a) noexcept {
        const __m512i done_or_error =
            four_times(_mm_setr_epi32(0, 0, static_cast<int>(tpk::rx_done | tpk::rx_error), 0));
        const __m512i done = four_times(_mm_setr_epi32(0, 0, static_cast<int>(tpk::rx_done), 0));
        const uint32_t same = _mm512_cmpeq_epi32_mask(_mm512_and_si512(a, done_or_error), done);
        return (same >> 2 & 1) | (same >> 5 & 2) | (same >> 8 & 4) | (same >> 11 & 8);
    }

    static void fill(__m512i a, rte_mbuf* const* m, uint64_t rearm) noexcept {
        const __m512i index_mask = four_times(_mm_setr_epi32(0, 0, 0xf, 0));
        const __m512i extra_mask = four_times(_mm_setr_epi32(0, 0, 0x3, 0));
        const __m512i extras = four_times(_mm_setr_epi8(
            0, extra_flag(1), extra_flag(2), extra_flag(3), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
        const __m512i fresh = four_times(_mm_cvtsi64_si128(static_cast<long long>(rearm)));
        const __m512i fields_shuffle =
            four_times(_mm_setr_epi8(6, 7, -1, -1, 12, 13, -1, -1, 12, 13, 4, 5, 0, 1, 2, 3));
        const __m512i index =
            _mm512_and_si512(_mm512_srli_epi64(a, tpk::rx_checksum_shift), index_mask);
        const __m512i extra =
            _mm512_and_si512(_mm512_srli_epi64(a, tpk::rx_extra_shift), extra_mask);
        const __m512i flags =
            _mm512_or_si512(_mm512_slli_epi64(_mm512_shuffle_epi8(flags_table(), index), 1),
                            _mm512_shuffle_epi8(extras, extra));
        const __m512i head = _mm512_or_si512(flags, fresh);
        const __m512i fields = _mm512_shuffle_epi8(a, fields_shuffle);
        const __m512i first =
            _mm512_permutex2var_epi64(head, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), fields);
        const __m512i second =
            _mm512_permutex2var_epi64(head, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), fields);
        store_half(m[0], _mm512_castsi512_si256(first));
        store_half(m[1], _mm512_extracti64x4_epi64(first, 1));
        store_half(m[2], _mm512_castsi512_si256(second));
        store_half(m[3], _mm512_extracti64x4_epi64(second, 1));
    }
    static void store_half(rte_mbuf* m, __m256i a) noexcept {
        _mm256_storeu_si256(
            reinterpret_cast<__m256i*>(reinterpret_cast<uint8_t*>(m) + mbuf_fields_at), a);
    }

    template <unsigned Words>
    static uint32_t take(const descriptor* d, rte_mbuf* const* m, uint64_t rearm) noexcept {
        const __m512i low = answers<Words>(d), high = answers<Words>(d + 4 * Words);
        const uint32_t good = good_ones(low) | good_ones(high) << 4;
        if (good == 0) return 0;
        fill(low, m, rearm);
        fill(high, m + 4, rearm);
        return good;
    }
    template <unsigned Words>
    static void post(descriptor* d, rte_mbuf* const* m, uint64_t headroom) noexcept {
        const __m512i room = four_times(_mm_cvtsi64_si128(static_cast<long long>(headroom)));
        const __m512i zero = _mm512_setzero_si512();
        for (uint32_t i = 0; i < group; i += 4) {
            const __m512i buffers = four(load_quarter(m[i]), load_quarter(m[i + 1]),
                                         load_quarter(m[i + 2]), load_quarter(m[i + 3]));
            const __m512i posted = _mm512_add_epi64(_mm512_bsrli_epi128(buffers, 8), room);
            if constexpr (Words == 1) {
                _mm512_storeu_si512(d + i, posted);
            } else {
                const __m512i first = _mm512_permutex2var_epi64(
                    posted, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), zero);
                const __m512i second = _mm512_permutex2var_epi64(
                    posted, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), zero);
                _mm512_storeu_si512(d + i * Words, first);
                _mm512_storeu_si512(d + (i + 2) * Words, second);
            }
        }
    }
    static void send(descriptor* d, rte_mbuf* const* m, uint64_t command) noexcept {
        for (uint32_t i = 0; i < group; i += 4)
            _mm512_storeu_si512(d + i,
                                four(quarter(m[i], command), quarter(m[i + 1], command),
                                     quarter(m[i + 2], command), quarter(m[i + 3], command)));
    }
    static __m128i quarter(const rte_mbuf* m, uint64_t command) noexcept {
        const uint64_t bytes = m->data_len;
        return _mm_set_epi64x(static_cast<long long>(command | bytes << tpk::tx_bytes_shift),
                              static_cast<long long>(m->buf_iova + m->data_off));
    }
};

}  // namespace

const turnpike::simnic::burst_kernels& turnpike::simnic::avx512::burst() noexcept {
    return kernels_of<word>;
}
