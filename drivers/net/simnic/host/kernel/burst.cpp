// SPDX-License-Identifier: BSD-3-Clause
// Conversion between descriptors and mbufs, in groups of descriptors; the rest of a burst is processed one by one.
// Ordering: both words of a descriptor are read together, or word 1 first (the device writes it last); the frame's data is
// read after them.

#include <rte_mbuf_core.h>

#include "host/kernel/burst.hpp"
#include "isa/blocks/blocks.hpp"

namespace {

using turnpike::simnic::descriptor;
namespace tpk = turnpike::simnic;

constexpr uint32_t group = blocks::count == 0 ? 1 : blocks::count == 1 ? 4 : 8;

constexpr uint32_t checksum_flag(uint32_t bits, bool upper) noexcept {
    const uint64_t flags = ((bits & 1) != 0 ? RTE_MBUF_F_RX_IP_CKSUM_GOOD : 0) |
                           ((bits & 2) != 0 ? RTE_MBUF_F_RX_IP_CKSUM_BAD : 0) |
                           ((bits & 4) != 0 ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0) |
                           ((bits & 8) != 0 ? RTE_MBUF_F_RX_L4_CKSUM_BAD : 0);
    return static_cast<uint32_t>(upper ? flags >> 1 : flags);
}

/// Shifted right by one, the four flags fit a byte, so a byte shuffle implements the table.
constexpr uint64_t checksum_flags(uint32_t first) noexcept {
    uint64_t out = 0;
    for (uint32_t i = 0; i < 8; ++i) out |= uint64_t{checksum_flag(first + i, true)} << 8 * i;
    return out;
}
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

constexpr uint64_t extra_flags() noexcept {
    uint64_t out = 0;
    for (uint32_t i = 0; i < 4; ++i) out |= uint64_t{static_cast<uint8_t>(extra_flag(i))} << 8 * i;
    return out;
}

/// A shuffle to packet_type, pkt_len | data_len, vlan_tci, hash.
constexpr uint64_t fields_low = 0x80800d0c'80800706, fields_high = 0x03020100'05040d0c;

inline bool convert_one(const descriptor* d, rte_mbuf* m, uint64_t rearm) noexcept {
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

template <bool Tagged>
inline descriptor sent(const rte_mbuf* m, uint64_t command) noexcept {
    if constexpr (Tagged) {
        const uint64_t tag = tpk::tx_insert_tag | uint64_t{m->vlan_tci} << tpk::tx_tag_shift;
        command |= (m->ol_flags & RTE_MBUF_F_TX_VLAN) != 0 ? tag : 0;
    }
    return {{m->buf_iova + m->data_off, command | static_cast<uint64_t>(m->data_len)
                                                      << tpk::tx_bytes_shift}};
}

/// Fill the mbufs m[0 .. group) from their descriptors. May also write mbufs whose descriptors are not done.
/// Returns a bitmap of the descriptors that are done without error
template <class B, unsigned Words>
inline uint32_t convert_group(const descriptor* d, rte_mbuf* const* m, uint64_t rearm) noexcept {
    if constexpr (B::count == 0) {
        return convert_one(d, m[0], rearm) ? 1 : 0;
    } else {
        const B done_or_error = B::all(0, tpk::rx_done | tpk::rx_error);
        const B done = B::all(0, tpk::rx_done);
        B a[group / B::count];
        uint32_t good = 0;
#pragma GCC unroll 8
        for (uint32_t i = 0; i < group; i += B::count) {
            B& v = a[i / B::count];
            v = B::each([&](unsigned k) { return d + (i + k) * Words; });
            good |= B::equal_upper(v & done_or_error, done) << i;
        }
        if (good == 0) return 0;
        const B fresh = B::all(rearm, 0);
        const B checksums = B::all(checksum_flags(0), checksum_flags(8));
        const B extras = B::all(extra_flags(), 0);
#pragma GCC unroll 8
        for (uint32_t i = 0; i < group; i += B::count) {
            const B v = a[i / B::count];
            const B checksum = B::template shift_right<tpk::rx_checksum_shift>(v) & B::all(0, 0xf);
            const B extra = B::template shift_right<tpk::rx_extra_shift>(v) & B::all(0, 0x3);
            const B flags = B::template shift_left<1>(B::shuffle(checksums, checksum)) |
                            B::shuffle(extras, extra);
            B::store_two(
                [&](unsigned k) { return reinterpret_cast<uint8_t*>(m[i + k]) + mbuf_fields_at; },
                flags | fresh, B::shuffle(v, B::all(fields_low, fields_high)));
        }
        return good;
    }
}

template <class B, unsigned Words>
inline void post_group(descriptor* d, rte_mbuf* const* m, uint64_t headroom) noexcept {
    if constexpr (B::count == 0) {
        post_one<Words>(d, m[0], headroom);
    } else {
#pragma GCC unroll 8
        for (uint32_t i = 0; i < group; i += B::count) {
            const B posted =
                B::upper(B::each([&](unsigned k) { return m[i + k]; })) + B::all(headroom, 0);
            if constexpr (Words == 1)
                B::store(d + i, posted);
            else
                B::store_two(
                    [&](unsigned k) { return reinterpret_cast<uint8_t*>(d + (i + k) * Words); },
                    posted, B::all(0, 0));
        }
    }
}

template <class B, bool Tagged>
inline void send_group(descriptor* d, rte_mbuf* const* m, uint64_t command) noexcept {
    if constexpr (B::count == 0) {
        *d = sent<Tagged>(m[0], command);
    } else {
#pragma GCC unroll 8
        for (uint32_t i = 0; i < group; i += B::count)
            B::store(d + i, B::pairs([&](unsigned k) {
                         const descriptor one = sent<Tagged>(m[i + k], command);
                         return block_words{one.word[0], one.word[1]};
                     }));
    }
}

template <unsigned Words>
uint32_t rx_take(const descriptor* ring, rte_mbuf* const* posted, rte_mbuf** out, uint32_t n,
                 uint64_t rearm) noexcept {
    constexpr uint32_t all = static_cast<uint32_t>((uint64_t{1} << group) - 1);
    uint32_t i = 0;
    for (; i + group <= n; i += group) {
        __builtin_memcpy(out + i, posted + i, group * sizeof(rte_mbuf*));
        const uint32_t good = convert_group<blocks, Words>(ring + i * Words, posted + i, rearm);
        if (good != all) return i + static_cast<uint32_t>(__builtin_ctz(~good));
    }
    for (; i < n; ++i) {
        out[i] = posted[i];
        if (!convert_one(ring + i * Words, posted[i], rearm)) break;
    }
    return i;
}

template <unsigned Words>
void rx_post(descriptor* ring, rte_mbuf* const* buffers, uint32_t n, uint64_t headroom) noexcept {
    uint32_t i = 0;
    for (; i + group <= n; i += group)
        post_group<blocks, Words>(ring + i * Words, buffers + i, headroom);
    for (; i < n; ++i) post_one<Words>(ring + i * Words, buffers[i], headroom);
}

template <bool Tagged>
void tx_post(descriptor* ring, rte_mbuf** posted, rte_mbuf* const* frames, uint32_t n,
             uint64_t command) noexcept {
    uint32_t i = 0;
    for (; i + group <= n; i += group) {
        __builtin_memcpy(posted + i, frames + i, group * sizeof(rte_mbuf*));
        send_group<blocks, Tagged>(ring + i, frames + i, command);
    }
    for (; i < n; ++i) {
        posted[i] = frames[i];
        ring[i] = sent<Tagged>(frames[i], command);
    }
}

}  // namespace

namespace turnpike::simnic::TURNPIKE_ISA {

const burst_kernels& burst() noexcept {
    static constexpr burst_kernels all{rx_take<1>, rx_take<2>,     rx_post<1>,
                                       rx_post<2>, tx_post<false>, tx_post<true>};
    return all;
}

}  // namespace turnpike::simnic::TURNPIKE_ISA
