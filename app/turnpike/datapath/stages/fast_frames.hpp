// SPDX-License-Identifier: BSD-3-Clause
// Fast-path frames of a burst: unicast frames to us, in one segment, with an IPv4 header without options or an IPv6
// header without extension headers, valid and forwardable (IPv4's part is packet/fast_ipv4.hpp).
// Shared by stages ip_fast and vxlan_fast.
#pragma once

#include <rte_prefetch.h>

#include <algorithm>
#include <cstring>

#include "datapath/burst.hpp"
#include "datapath/own_addresses.hpp"
#include "isa/simd/v128.hpp"
#include "packet/fast_ipv4.hpp"
#include "packet/headers.hpp"
#include "packet/ipv6.hpp"

namespace turnpike::datapath {
namespace {

static_assert(burst_max == packet::fast_ipv4_frames);

/// Read in place of frames that are too short for the fast path, or in several segments.
alignas(64) uint8_t no_frame[128] = {};

/// Start of each frame of a burst; an IPv4 header is readable there. Padded to a multiple of 16 for
/// the kernels.
struct frames {
    static constexpr uint32_t least_bytes =
        sizeof(packet::ethernet_header) + sizeof(packet::ipv4_header);
    static constexpr uint32_t max_padding = 16;
    std::array<uint8_t*, burst_max + max_padding> first;

    explicit frames(const burst& b) noexcept {
        const size_t n = b.count;
        size_t i = 0;
#pragma GCC unroll 4
        do {
            first[i] = rte_pktmbuf_mtod(b.packet[i], uint8_t*);
            rte_prefetch0(first[i]);  // the device may have written it to memory far from this CPU
        } while (++i < n);
        fill_up<max_padding>(static_cast<uint32_t>(n));
        leave_out_shorter(b, least_bytes);
    }

    struct empty {};
    /// To be filled, and filled up.
    explicit frames(empty) noexcept {}
    /// For kernels that read `Multiple` frames at a time. (A loop over the missing ones would become a slow `rep stos`.)
    template <uint32_t Multiple>
    void fill_up(uint32_t n) noexcept {
        static_assert(Multiple <= max_padding);
        if (n % Multiple != 0) std::fill_n(&first[n], Multiple, &no_frame[0]);
    }

    /// Replace frames by no_frame that are shorter than `bytes` or in several segments.
    template <class Burst>
    void leave_out_shorter(const Burst& b, uint32_t bytes) noexcept {
        if (!any_shorter(b, bytes)) [[likely]]
            return;
        for (size_t i = 0, n = b.count; i < n; ++i)
            if (b.single_segment_bytes[i] < bytes) first[i] = no_frame;
    }

    template <class Burst>
    static bool any_shorter(const Burst& b, uint32_t bytes) noexcept {
        if (b.min_bytes >= bytes) [[likely]]
            return false;
        v128 found = v128::set1(0);
        for (size_t i = 0, n = b.count; i < n; i += 4)  // elements behind the last are arbitrary
            found =
                found | v128::greater(v128::set1(bytes), v128::load(&b.single_segment_bytes[i]));
        return v128::any(found);
    }

    /// Frames of the first `n` with IPv6's EtherType, four at a time.
    [[nodiscard]] packet_mask find_ipv6(uint32_t n) const noexcept {
        const v128 type = v128::set1(__builtin_bswap16(packet::ether_type_ipv6));
        packet_mask out = 0;
        for (uint32_t i = 0; i < n; i += 4) {
            const v128 is = v128::load_u32_each(&first[i], offsetof(packet::ethernet_header, type));
            out |= v128::sign_bits(v128::equal<uint32_t>(is & v128::set1(0xffff), type)) << i;
        }
        return out;
    }
};

/// Lengths of packets of one family.
struct lengths {
    uint32_t most;  ///< of the longest packet, in bytes of layer 3
    bool padded;    ///< some frame is longer than its IP packet
};

/// A source address of our own is spoofed: the slow path drops it with a reason.
inline packet_mask from_others(const own_addresses& own, packet_mask packets,
                               const uint32_t* source, uint32_t n) noexcept {
    uint8_t any = 0;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < n; ++i) any |= own.may_have(source[i]);
    if (any == 0) [[likely]]
        return packets;
    packet_mask ours = 0;
    for_each(packets, [&](uint32_t i) { ours |= packet_mask{own.has(source[i])} << i; });
    return packets & ~ours;
}

/// Global or unique local unicast, 2000::/3 and fc00::/7: nearly all traffic, and none of it
/// martian.
/// word  [lane] first four bytes of an address, in memory order, like all words here
v128 is_global(v128 word) noexcept {
    return v128::equal<uint32_t>(word & v128::set1(0xe0), v128::set1(0x20)) |
           v128::equal<uint32_t>(word & v128::set1(0xfe), v128::set1(0xfc));
}

/// No extension header, and not ICMPv6, which the slow path examines.
bool is_plain_upper(uint8_t next_header) noexcept {
    return !packet::is_ipv6_extension(next_header) && next_header != packet::protocol_icmpv6;
}

/// Plain IPv6 frames, four at a time: the checks of RFC 8200 and, for addresses, RFC 4291.
///
///   frame  2       6        10            14       18                        22 ..  34 .. 38
///          | us    | source | source type | 6 flow | length, next header, hops | source | destination
class fast_ipv6 {
  public:
    explicit fast_ipv6(const mac_address& us) noexcept {
        uint16_t first;
        uint32_t rest;
        std::memcpy(&first, us.bytes, sizeof first);
        std::memcpy(&rest, us.bytes + 2, sizeof rest);
        to_ = v128::set1(first);
        rest_to_ = v128::set1(rest);
    }

    /// l3_bytes  [burst_max, 16-byte aligned] out; 0 for packets in neither mask
    /// of_all    out
    template <class Burst>
    [[nodiscard]] packet_mask find_all(const Burst& b, packet_mask packets, const frames& f,
                                       uint32_t* l3_bytes, lengths& of_all) const noexcept {
        constexpr uint32_t bytes = l2_bytes + sizeof(packet::ipv6_header);
        if (!frames::any_shorter(b, bytes)) [[likely]]
            return find_in(b, packets, f, l3_bytes, of_all);
        frames longer = f;
        longer.leave_out_shorter(b, bytes);
        return find_in(b, packets, longer, l3_bytes, of_all);
    }

  private:
    static constexpr uint16_t l2_bytes = sizeof(packet::ethernet_header);

    template <class Burst>
    [[nodiscard]] packet_mask find_in(const Burst& b, packet_mask packets, const frames& f,
                                      uint32_t* l3_bytes, lengths& of_all) const noexcept {
        packet_mask fast = 0, doubt = 0;
        v128 longest = v128::set1(0), padded = longest;
        for (uint32_t i = 0; i < b.count; i += 4) {
            packet_mask in_doubt;
            const v128 l3 = find(&f.first[i], &b.single_segment_bytes[i], in_doubt);
            v128::store(&l3_bytes[i], l3);
            const v128 is_fast = v128::greater(l3, v128::set1(0));
            fast |= v128::sign_bits(is_fast) << i;
            longest = v128::most(longest, l3);
            const v128 shorter =
                v128::greater(v128::load(&b.single_segment_bytes[i]), l3 + v128::set1(l2_bytes));
            padded = padded | (shorter & is_fast);
            doubt |= in_doubt << i;
        }
        of_all = {longest.highest(), v128::any(padded)};
        fast &= packets;
        packet_mask not_fast = 0;
        for_each(fast & doubt, [&](uint32_t i) {
            const auto& ip = packet::header_at<packet::ipv6_header>(f.first[i] + l2_bytes);
            if (!is_plain_upper(ip.next_header) || ip.source == ip.destination)
                not_fast |= packet_mask{1} << i;
        });
        return fast & ~not_fast;
    }

    /// Four frames, 50 bytes readable of each. Answers their packets' lengths; 0: not for the fast path. It may be for it where
    /// `doubt` has its bit.
    /// doubt  out: frames whose upper layer may not be for it, or whose addresses may be equal
    v128 find(uint8_t* const* frame, const uint32_t* single_segment_bytes,
              packet_mask& doubt) const noexcept {
        const auto rows = [&](unsigned offset, v128(&column)[4]) {
            v128::columns_of([&](unsigned k) { return frame[k] + offset; }, column);
        };
        const auto same = [](v128 a, uint32_t b) {
            return v128::equal<uint32_t>(a, v128::set1(b));
        };
        v128 link[4], head[4], ends[4];
        rows(2, link);
        rows(18, head);
        rows(34, ends);
        const v128 byte = v128::set1(0xff);
        const v128 payload =
            v128::shift_left_by(head[0] & byte, 8) | (v128::shift_right<8>(head[0]) & byte);
        const v128 l3 = payload + v128::set1(sizeof(packet::ipv6_header));
        const v128 upper = v128::shift_right<16>(head[0]) & byte;
        const v128 good =
            v128::equal<uint32_t>(v128::load_u32_each(frame, 0) & v128::set1(0xffff), to_) &
            v128::equal<uint32_t>(link[0], rest_to_) & same(link[1] & v128::set1(1), 0) &
            same(v128::shift_right<16>(link[2]), 0xdd86) & same(link[3] & v128::set1(0xf0), 0x60) &
            v128::greater(v128::shift_right<24>(head[0]), v128::set1(1)) & is_global(head[1]) &
            is_global(ends[1]);
        const v128 too_long =
            v128::greater(l3 + v128::set1(l2_bytes), v128::load(single_segment_bytes));
        const v128 usual = same(upper, packet::protocol_tcp) | same(upper, packet::protocol_udp);
        const v128 alike =
            v128::equal<uint32_t>(head[1], ends[1]) & v128::equal<uint32_t>(head[3], ends[3]);
        doubt = v128::sign_bits(alike) | (v128::sign_bits(usual) ^ 0xf);
        return l3 & v128::and_not(too_long, good);
    }

    v128 to_, rest_to_;
};

}  // namespace
}  // namespace turnpike::datapath
