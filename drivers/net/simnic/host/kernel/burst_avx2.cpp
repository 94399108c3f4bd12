// SPDX-License-Identifier: BSD-3-Clause
// Two packets per register: each half holds one descriptor, and one store writes 32 bytes of an
// mbuf.
#include <immintrin.h>

#include "host/kernel/burst.inl.hpp"

namespace {

inline __m128i load_half(const void* from) noexcept {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
}
inline void store(void* to, __m256i a) noexcept {
    _mm256_storeu_si256(static_cast<__m256i*>(to), a);
}
inline __m256i both(__m128i low, __m128i high) noexcept {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}
inline __m256i twice(__m128i a) noexcept { return _mm256_broadcastsi128_si256(a); }

inline __m256i flags_table() noexcept {
    char t[16];
    for (uint32_t i = 0; i < 16; ++i) t[i] = static_cast<char>(checksum_flag(i, true));
    return twice(load_half(t));
}

struct word {
    static constexpr uint32_t group = 8;

    template <unsigned Words>
    static uint32_t take(const descriptor* d, rte_mbuf* const* m, uint64_t rearm) noexcept {
        const __m256i done_or_error =
            twice(_mm_setr_epi32(0, 0, static_cast<int>(tpk::rx_done | tpk::rx_error), 0));
        const __m256i done = twice(_mm_setr_epi32(0, 0, static_cast<int>(tpk::rx_done), 0));
        const __m256i index_mask = twice(_mm_setr_epi32(0, 0, 0xf, 0));
        const __m256i extra_mask = twice(_mm_setr_epi32(0, 0, 0x3, 0));
        const __m256i extras = twice(_mm_setr_epi8(0, extra_flag(1), extra_flag(2), extra_flag(3),
                                                   0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
        const __m256i fresh = twice(_mm_cvtsi64_si128(static_cast<long long>(rearm)));
        const __m256i fields_shuffle =
            twice(_mm_setr_epi8(6, 7, -1, -1, 12, 13, -1, -1, 12, 13, 4, 5, 0, 1, 2, 3));
        const __m256i table = flags_table();
        __m256i a[group / 2];
        uint32_t good = 0;
        for (uint32_t i = 0; i < group; i += 2) {
            a[i / 2] = both(load_half(d + i * Words), load_half(d + (i + 1) * Words));
            const __m256i same =
                _mm256_cmpeq_epi32(_mm256_and_si256(a[i / 2], done_or_error), done);
            const auto bits = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(same)));
            good |= ((bits >> 2 & 1) | (bits >> 5 & 2)) << i;
        }
        if (good == 0) return 0;
        for (uint32_t i = 0; i < group; i += 2) {
            const __m256i answer = a[i / 2];
            const __m256i index =
                _mm256_and_si256(_mm256_srli_epi64(answer, tpk::rx_checksum_shift), index_mask);
            const __m256i extra =
                _mm256_and_si256(_mm256_srli_epi64(answer, tpk::rx_extra_shift), extra_mask);
            const __m256i flags =
                _mm256_or_si256(_mm256_slli_epi64(_mm256_shuffle_epi8(table, index), 1),
                                _mm256_shuffle_epi8(extras, extra));
            const __m256i head = _mm256_or_si256(flags, fresh);
            const __m256i fields = _mm256_shuffle_epi8(answer, fields_shuffle);
            store(reinterpret_cast<uint8_t*>(m[i]) + mbuf_fields_at,
                  _mm256_permute2x128_si256(head, fields, 0x20));
            store(reinterpret_cast<uint8_t*>(m[i + 1]) + mbuf_fields_at,
                  _mm256_permute2x128_si256(head, fields, 0x31));
        }
        return good;
    }
    template <unsigned Words>
    static void post(descriptor* d, rte_mbuf* const* m, uint64_t headroom) noexcept {
        const __m256i room = twice(_mm_cvtsi64_si128(static_cast<long long>(headroom)));
        for (uint32_t i = 0; i < group; i += 2) {
            const __m256i pair = both(load_half(m[i]), load_half(m[i + 1]));
            const __m256i posted = _mm256_add_epi64(_mm256_srli_si256(pair, 8), room);
            if constexpr (Words == 1) {
                store(d + i, posted);
            } else {
                const __m256i zero = _mm256_setzero_si256();
                store(d + i * Words, _mm256_permute2x128_si256(posted, zero, 0x20));
                store(d + (i + 1) * Words, _mm256_permute2x128_si256(posted, zero, 0x21));
            }
        }
    }
    static void send(descriptor* d, rte_mbuf* const* m, uint64_t command) noexcept {
        for (uint32_t i = 0; i < group; i += 2)
            store(d + i, both(half(m[i], command), half(m[i + 1], command)));
    }

    // One descriptor; not part of the word interface.
    static __m128i half(const rte_mbuf* m, uint64_t command) noexcept {
        const uint64_t bytes = m->data_len;
        return _mm_set_epi64x(static_cast<long long>(command | bytes << tpk::tx_bytes_shift),
                              static_cast<long long>(m->buf_iova + m->data_off));
    }
};

}  // namespace

const turnpike::simnic::burst_kernels& turnpike::simnic::avx2::burst() noexcept {
    return kernels_of<word>;
}
