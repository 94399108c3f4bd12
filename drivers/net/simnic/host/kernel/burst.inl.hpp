// SPDX-License-Identifier: BSD-3-Clause
// The algorithm, generic over a word V (burst_<isa>.cpp) that processes one group of descriptors:
//
//   group                       packets in a group
//   take<Words>(d, m, rearm)    fill the mbufs m[0 .. group) from their descriptors; returns a bitmap of
//                               descriptors done without error. May also write other, unowned mbufs
//   post<Words>(d, m, headroom) write the group's descriptors
//   send(d, m, command)         likewise
//
// The rest of a burst is processed one by one. Ordering: both words of a descriptor are read
// together, or word 1 first (the device writes it last); the frame's data is read after them.

#include <rte_mbuf_core.h>

#include "host/kernel/burst.hpp"

namespace {

using turnpike::simnic::descriptor;
namespace tpk = turnpike::simnic;

constexpr uint32_t checksum_flag(uint32_t bits, bool upper) noexcept {
    const uint64_t flags = ((bits & 1) != 0 ? RTE_MBUF_F_RX_IP_CKSUM_GOOD : 0) |
                           ((bits & 2) != 0 ? RTE_MBUF_F_RX_IP_CKSUM_BAD : 0) |
                           ((bits & 4) != 0 ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0) |
                           ((bits & 8) != 0 ? RTE_MBUF_F_RX_L4_CKSUM_BAD : 0);
    return static_cast<uint32_t>(upper ? flags >> 1 : flags);
}

// Shifted right by one, the four flags fit a byte, so a byte shuffle implements the table.
static_assert(checksum_flag(0xf, true) <= 0xff && (checksum_flag(0xf, false) & 1) == 0);

// The mbuf layout that the kernels write in one or two stores: rearm | ol_flags | type, lengths,
// VLAN, hash.
static_assert(offsetof(rte_mbuf, buf_addr) == 0 && offsetof(rte_mbuf, buf_iova) == 8);
static_assert(offsetof(rte_mbuf, data_off) == 16 && offsetof(rte_mbuf, ol_flags) == 24);
static_assert(offsetof(rte_mbuf, packet_type) == 32 && offsetof(rte_mbuf, pkt_len) == 36);
static_assert(offsetof(rte_mbuf, data_len) == 40 && offsetof(rte_mbuf, vlan_tci) == 42);
static_assert(offsetof(rte_mbuf, hash) == 44);

constexpr uint32_t mbuf_fields_at = 16;

/// Two more adjacent bits: RSS hash valid, VLAN tag stripped. Their mbuf flags fit a byte.
constexpr char extra_flag(uint32_t bits) noexcept {
    return static_cast<char>(
        ((bits & 1) != 0 ? RTE_MBUF_F_RX_RSS_HASH : 0) |
        ((bits & 2) != 0 ? RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED : 0));
}
static_assert(tpk::rx_hashed == 1u << tpk::rx_extra_shift &&
              tpk::rx_stripped == 2u << tpk::rx_extra_shift && extra_flag(3) > 0);

inline bool take_one(const descriptor* d, rte_mbuf* m, uint64_t rearm) noexcept {
    const uint64_t word_1 = __atomic_load_n(&d->word[1], __ATOMIC_ACQUIRE);
    if ((word_1 & (tpk::rx_done | tpk::rx_error)) != tpk::rx_done) return false;
    const uint64_t word_0 = __atomic_load_n(&d->word[0], __ATOMIC_RELAXED);
    const auto bytes = static_cast<uint16_t>(word_1 >> 32);
    __builtin_memcpy(reinterpret_cast<uint8_t*>(m) + mbuf_fields_at, &rearm, sizeof rearm);
    m->ol_flags =
        checksum_flag(static_cast<uint32_t>(word_1 >> tpk::rx_checksum_shift) & 0xf, false) |
        static_cast<uint32_t>(extra_flag(static_cast<uint32_t>(word_1 >> tpk::rx_extra_shift) & 3));
    m->packet_type = static_cast<uint32_t>(word_0 >> 48);
    m->pkt_len = bytes;
    m->data_len = bytes;
    m->vlan_tci = static_cast<uint16_t>(word_0 >> 32);
    m->hash.rss = static_cast<uint32_t>(word_0);
    return true;
}

template <unsigned Words>
inline void post_one(descriptor* d, const rte_mbuf* m, uint64_t headroom) noexcept {
    d[0] = {{m->buf_iova + headroom, 0}};
    if constexpr (Words == 2) d[1] = {};
}

inline void send_one(descriptor* d, const rte_mbuf* m, uint64_t command) noexcept {
    *d = {{m->buf_iova + m->data_off, command | static_cast<uint64_t>(m->data_len)
                                                    << tpk::tx_bytes_shift}};
}

template <class V, unsigned Words>
uint32_t rx_take(const descriptor* ring, rte_mbuf* const* posted, rte_mbuf** out, uint32_t n,
                 uint64_t rearm) noexcept {
    constexpr uint32_t all = static_cast<uint32_t>((uint64_t{1} << V::group) - 1);
    uint32_t i = 0;
    for (; i + V::group <= n; i += V::group) {
        __builtin_memcpy(out + i, posted + i, V::group * sizeof(rte_mbuf*));
        const uint32_t good = V::template take<Words>(ring + i * Words, posted + i, rearm);
        if (good != all) return i + static_cast<uint32_t>(__builtin_ctz(~good));
    }
    for (; i < n; ++i) {
        out[i] = posted[i];
        if (!take_one(ring + i * Words, posted[i], rearm)) break;
    }
    return i;
}

template <class V, unsigned Words>
void rx_post(descriptor* ring, rte_mbuf* const* buffers, uint32_t n, uint64_t headroom) noexcept {
    uint32_t i = 0;
    for (; i + V::group <= n; i += V::group)
        V::template post<Words>(ring + i * Words, buffers + i, headroom);
    for (; i < n; ++i) post_one<Words>(ring + i * Words, buffers[i], headroom);
}

template <class V>
void tx_post(descriptor* ring, rte_mbuf** posted, rte_mbuf* const* frames, uint32_t n,
             uint64_t command) noexcept {
    uint32_t i = 0;
    for (; i + V::group <= n; i += V::group) {
        __builtin_memcpy(posted + i, frames + i, V::group * sizeof(rte_mbuf*));
        V::send(ring + i, frames + i, command);
    }
    for (; i < n; ++i) {
        posted[i] = frames[i];
        send_one(ring + i, frames[i], command);
    }
}

template <class V>
constexpr tpk::burst_kernels kernels_of{rx_take<V, 1>, rx_take<V, 2>, rx_post<V, 1>, rx_post<V, 2>,
                                        tx_post<V>};

}  // namespace
