// SPDX-License-Identifier: BSD-3-Clause
#include <immintrin.h>

#include "host/kernel/burst.inl.hpp"

namespace {

inline __m128i load(const void* from) noexcept {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
}
inline void store(void* to, __m128i a) noexcept { _mm_storeu_si128(static_cast<__m128i*>(to), a); }

/// Offsets of packet_type, pkt_len, data_len, vlan_tci and hash in a write-back.
inline __m128i fields_shuffle() noexcept {
    return _mm_setr_epi8(6, 7, -1, -1, 12, 13, -1, -1, 12, 13, 4, 5, 0, 1, 2, 3);
}

inline __m128i flags_table() noexcept {
    char t[16];
    for (uint32_t i = 0; i < 16; ++i) t[i] = static_cast<char>(checksum_flag(i, true));
    return load(t);
}

inline __m128i extra_table() noexcept {
    return _mm_setr_epi8(0, extra_flag(1), extra_flag(2), extra_flag(3), 0, 0, 0, 0, 0, 0, 0, 0, 0,
                         0, 0, 0);
}

struct word {
    static constexpr uint32_t group = 4;

    template <unsigned Words>
    static uint32_t take(const descriptor* d, rte_mbuf* const* m, uint64_t rearm) noexcept {
        const __m128i done_or_error =
            _mm_setr_epi32(0, 0, static_cast<int>(tpk::rx_done | tpk::rx_error), 0);
        const __m128i done = _mm_setr_epi32(0, 0, static_cast<int>(tpk::rx_done), 0);
        const __m128i index_mask = _mm_setr_epi32(0, 0, 0xf, 0);
        const __m128i extra_mask = _mm_setr_epi32(0, 0, 0x3, 0);
        const __m128i fresh = _mm_cvtsi64_si128(static_cast<long long>(rearm));
        uint32_t good = 0;
        for (uint32_t i = 0; i < group; ++i) {
            const __m128i a = load(d + i * Words);
            const __m128i same = _mm_cmpeq_epi32(_mm_and_si128(a, done_or_error), done);
            good |= (_mm_movemask_epi8(same) == 0xffff ? 1u : 0u) << i;
            const __m128i index =
                _mm_and_si128(_mm_srli_epi64(a, tpk::rx_checksum_shift), index_mask);
            const __m128i extra = _mm_and_si128(_mm_srli_epi64(a, tpk::rx_extra_shift), extra_mask);
            const __m128i flags =
                _mm_or_si128(_mm_slli_epi64(_mm_shuffle_epi8(flags_table(), index), 1),
                             _mm_shuffle_epi8(extra_table(), extra));
            uint8_t* to = reinterpret_cast<uint8_t*>(m[i]) + mbuf_fields_at;
            store(to, _mm_or_si128(flags, fresh));
            store(to + 16, _mm_shuffle_epi8(a, fields_shuffle()));
        }
        return good;
    }
    template <unsigned Words>
    static void post(descriptor* d, rte_mbuf* const* m, uint64_t headroom) noexcept {
        const __m128i room = _mm_cvtsi64_si128(static_cast<long long>(headroom));
        for (uint32_t i = 0; i < group; ++i) {
            store(d + i * Words, _mm_add_epi64(_mm_srli_si128(load(m[i]), 8), room));
            if constexpr (Words == 2) store(d + i * Words + 1, _mm_setzero_si128());
        }
    }
    static void send(descriptor* d, rte_mbuf* const* m, uint64_t command) noexcept {
        for (uint32_t i = 0; i < group; ++i) {
            const uint64_t bytes = m[i]->data_len;
            store(d + i,
                  _mm_set_epi64x(static_cast<long long>(command | bytes << tpk::tx_bytes_shift),
                                 static_cast<long long>(m[i]->buf_iova + m[i]->data_off)));
        }
    }
};

}  // namespace

const turnpike::simnic::burst_kernels& turnpike::simnic::sse42::burst() noexcept {
    return kernels_of<word>;
}
