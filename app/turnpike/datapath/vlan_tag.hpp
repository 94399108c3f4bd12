// SPDX-License-Identifier: BSD-3-Clause
// VLAN pop and push: the outer tag.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "base/byte_order.hpp"
#include "datapath/burst.hpp"
#include "datapath/pull_up.hpp"
#include "isa/simd/v128.hpp"
#include "packet/headers.hpp"

namespace turnpike::datapath {

struct found_tag {
    /// truncated: also spread over segments that cannot be linearized; with the reserved VID 4095 the frame is dropped
    enum { none, whole, truncated } is = none;
    uint16_t tci = 0;  ///< PCP, DEI and VID
};

/// type  TPID to match
inline found_tag find_tag(rte_mbuf* m, uint16_t type) noexcept {
    constexpr uint16_t tagged_bytes = sizeof(packet::ethernet_header) + sizeof(packet::vlan_tag);
    if (m->data_len < tagged_bytes) [[unlikely]]
        if (!pull_up(m, m->pkt_len < tagged_bytes ? m->pkt_len : tagged_bytes))
            return {found_tag::truncated, packet::reserved_vlan_id};
    const auto* frame = rte_pktmbuf_mtod(m, const uint8_t*);
    if (packet::header_at<packet::ethernet_header>(frame).type != type) return {};
    if (m->data_len < tagged_bytes) return {found_tag::truncated, packet::reserved_vlan_id};
    return {found_tag::whole,
            packet::header_at<packet::vlan_tag>(frame + sizeof(packet::ethernet_header)).tci};
}

constexpr uint32_t no_tag = 0;

struct snapshot;

/// Put tags that the driver stripped back into their frames, and clear flags of transmission. Packets without headroom keep
/// RTE_MBUF_F_RX_VLAN_STRIPPED, and stage rx drops them.
/// tag_type  the port's TPID
void settle_flags(burst& b, uint16_t tag_type) noexcept;

/// TPID and TCI of the tag that a stage removed from a packet's frame, or no_tag.
uint32_t removed_tag(const snapshot& v, const burst& b, uint32_t i) noexcept;

/// Move a frame's two MAC addresses; regions may overlap, so both are read before the first write.
inline void move_addresses(uint8_t* to, const uint8_t* from) noexcept {
    uint64_t first;
    uint32_t rest;
    std::memcpy(&first, from, sizeof first);
    std::memcpy(&rest, from + sizeof first, sizeof rest);
    std::memcpy(to, &first, sizeof first);
    std::memcpy(to + sizeof first, &rest, sizeof rest);
}

/// Add to pkt_len and data_len, as one number; the result of neither is below 0 or above its type's greatest value.
inline void add_to_lengths(rte_mbuf* m, int bytes) noexcept {
    static_assert(std::endian::native == std::endian::little &&
                  offsetof(rte_mbuf, data_len) == offsetof(rte_mbuf, pkt_len) + 4);
    auto* const at = reinterpret_cast<uint8_t*>(m) + offsetof(rte_mbuf, pkt_len);
    uint64_t lengths;
    std::memcpy(&lengths, at, sizeof lengths);
    lengths += static_cast<uint64_t>(int64_t{bytes}) * 0x1'0000'0001;
    std::memcpy(at, &lengths, sizeof lengths);
}

/// Requires a tag in the frame's first segment.
/// frame  its first byte
inline void vlan_pop(rte_mbuf* m, uint8_t* frame) noexcept {
    constexpr uint16_t bytes = sizeof(packet::vlan_tag);
    move_addresses(frame + bytes, frame);
    m->data_off = static_cast<uint16_t>(m->data_off + bytes);
    add_to_lengths(m, -int{bytes});
}

inline void vlan_pop(rte_mbuf* m) noexcept { vlan_pop(m, rte_pktmbuf_mtod(m, uint8_t*)); }

/// The same for a packet of a burst; the caller has recorded the tag.
inline void vlan_pop(burst& b, uint32_t i) noexcept {
    vlan_pop(b.packet[i]);
    uint32_t& bytes = b.single_segment_bytes[i];
    if (bytes == 0) return;
    bytes -= uint32_t{sizeof(packet::vlan_tag)};
    b.min_bytes = std::min(b.min_bytes, bytes);
}

/// The same for all packets.
inline void vlan_pop_all(burst& b) noexcept {
    constexpr uint32_t bytes = sizeof(packet::vlan_tag);
    const uint32_t n = b.count;
    for (uint32_t i = 0; i < n; ++i) vlan_pop(b.packet[i]);
    for (uint32_t i = 0; i < n; i += 4) {  // 0 stays 0; elements behind the last are arbitrary
        const v128 before = v128::load(&b.single_segment_bytes[i]);
        v128::store(&b.single_segment_bytes[i],
                    v128::most(before, v128::set1(bytes)) + v128::set1(-bytes));
    }
    b.min_bytes = std::max(b.min_bytes, bytes) - bytes;
}

/// Answers  false where there is no headroom
inline bool vlan_push(rte_mbuf* m, uint32_t type_and_tci) noexcept {
    constexpr uint16_t bytes = sizeof(packet::vlan_tag), addresses_bytes = 12;
    auto* const to = reinterpret_cast<uint8_t*>(rte_pktmbuf_prepend(m, bytes));
    if (to == nullptr) return false;
    move_addresses(to, to + bytes);
    store_be(to + addresses_bytes, type_and_tci);
    return true;
}

/// Replace the tag in the frame.
inline void change_tag(rte_mbuf* m, uint32_t type_and_tci) noexcept {
    auto* const at = rte_pktmbuf_mtod_offset(m, uint8_t*, 2 * sizeof(mac_address));
    if (load_be<uint32_t>(at) != type_and_tci) store_be(at, type_and_tci);
}

}  // namespace turnpike::datapath
