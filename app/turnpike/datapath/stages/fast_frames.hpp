// SPDX-License-Identifier: BSD-3-Clause
// Fast-path frames of a burst: unicast frames to us, in one segment, with an IPv4 header without options or an IPv6
// header without extension headers, valid and forwardable (packet/fast_ipv4.hpp, fast_ipv6.hpp).
// Shared by stages ip_fast and vxlan_fast.
#pragma once

#include <rte_prefetch.h>

#include <algorithm>
#include <cstring>

#include "datapath/burst.hpp"
#include "datapath/own_addresses.hpp"
#include "isa/simd/v128.hpp"
#include "packet/fast_ipv4.hpp"
#include "packet/fast_ipv6.hpp"
#include "packet/headers.hpp"

namespace turnpike::datapath {
namespace {

static_assert(burst_max == packet::fast_ipv4_frames && burst_max == packet::fast_ipv6_frames);

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
        fill_up(static_cast<uint32_t>(n));
        leave_out_shorter(b, least_bytes);
    }

    struct empty {};
    /// To be filled, and filled up.
    explicit frames(empty) noexcept {}
    /// For kernels that read `max_padding` frames at a time. (A loop over the missing ones would become a slow `rep stos`.)
    void fill_up(uint32_t n) noexcept {
        if (n % max_padding != 0) std::fill_n(&first[n], max_padding, &no_frame[0]);
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

/// Fast-path IPv6 frames of `packets`.
/// out  of these frames; where it has a doubt, it has been resolved
template <class Burst>
packet_mask find_fast_ipv6(packet::fast_ipv6_function* find, const Burst& b, packet_mask packets,
                           const frames& f, const mac_address& us,
                           packet::fast_ipv6& out) noexcept {
    constexpr uint32_t l2_bytes = sizeof(packet::ethernet_header),
                       bytes = l2_bytes + sizeof(packet::ipv6_header);
    const auto find_in = [&](const frames& some) {
        return find(some.first.data(), &b.single_segment_bytes[0], b.count, us, out);
    };
    if (frames::any_shorter(b, bytes)) [[unlikely]] {
        frames longer = f;
        longer.leave_out_shorter(b, bytes);
        packets &= find_in(longer);
    } else {
        packets &= find_in(f);
    }
    packet_mask not_fast = 0;
    for_each(packets & out.doubt, [&](uint32_t i) {
        const auto& ip = packet::header_at<packet::ipv6_header>(f.first[i] + l2_bytes);
        not_fast |= packet_mask{!packet::is_fast_for_sure(ip)} << i;
    });
    return packets & ~not_fast;
}

}  // namespace
}  // namespace turnpike::datapath
