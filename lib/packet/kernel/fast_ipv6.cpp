// SPDX-License-Identifier: BSD-3-Clause
// One packet per lane, as in fast_ipv4.cpp: three rows of 16 bytes of each frame are transposed into columns of words in memory
// order.
//
//   frame  0    4            8        12          16     18                        22         34        38
//          | us | us, source | source | type, 6,  | flow | length, next header,    | source... | ...source | destination...
//          |    |            |        | class     |      | hop limit               |
//            to   to_from               kind               header                    source[0]   source[3]   destination[0]

#include "packet/fast_ipv6.hpp"
#include "isa/simd/simd.hpp"

namespace {

constexpr uint32_t ethernet_bytes = 14, header_bytes = 40, tcp = 6, udp = 17;

template <class V>
inline V same(V a, uint32_t b) noexcept {
    return V::template equal<uint32_t>(a, V::set1(b));
}

/// 2000::/3 or fc00::/7.
template <class V>
inline V is_global(V first_word) noexcept {
    return same(first_word & V::set1(0xe0), 0x20) | same(first_word & V::set1(0xfe), 0xfc);
}

template <class V>
inline uint32_t find(const uint8_t* const* frame, const uint32_t* frame_bytes, uint32_t n,
                     const turnpike::mac_address& us, turnpike::packet::fast_ipv6& out) noexcept {
    uint32_t to;
    uint16_t rest_to;
    __builtin_memcpy(&to, us.bytes, sizeof to);
    __builtin_memcpy(&rest_to, us.bytes + 4, sizeof rest_to);
    uint32_t fast = 0, doubt = 0;
    V longest = V::set1(0), padded = longest;
    for (uint32_t i = 0; i < n; i += V::lanes) {
        V link[4], head[4], ends[4];
        V::columns_each(frame + i, 0, link);
        V::columns_each(frame + i, 18, head);
        V::columns_each(frame + i, 34, ends);
        const V bytes = V::load(frame_bytes + i);
        const V total = V::template shift_right<16>(V::swap_bytes(head[0])) + V::set1(header_bytes);
        // The group bit of the source's MAC address is 0, the type is IPv6, the version is 6.
        const V good = same(link[0], to) & same(link[1] & V::set1(0x0001'ffff), rest_to) &
                       same(link[3] & V::set1(0x00f0'ffff), 0x0060'dd86) &
                       V::greater(V::template shift_right<24>(head[0]), V::set1(1)) &
                       is_global(head[1]) & is_global(ends[1]);
        const V too_long = V::greater(total + V::set1(ethernet_bytes), bytes);
        const V l3 = V::and_not(too_long, good) & total;
        const V is_fast = V::greater(l3, V::set1(0));
        const V upper = V::template shift_right<16>(head[0]) & V::set1(0xff);
        const V usual = same(upper, tcp) | same(upper, udp);
        const V alike = V::template equal<uint32_t>(head[1], ends[1]) &
                        V::template equal<uint32_t>(head[3], ends[3]);
        V::store(out.l3_bytes + i, l3);
        fast |= V::sign_bits(is_fast) << i;
        doubt |= V::sign_bits(alike | V::and_not(usual, V::set1(~0U))) << i;
        longest = V::most(longest, l3);
        padded = padded | (V::greater(bytes, l3 + V::set1(ethernet_bytes)) & is_fast);
    }
    out.longest = longest.highest();
    out.padded = V::any(padded);
    if (n < 32) fast &= (1u << n) - 1;
    out.doubt = doubt & fast;
    return fast;
}

}  // namespace

namespace turnpike::packet::TURNPIKE_ISA {

uint32_t find_fast_ipv6(const uint8_t* const* frame, const uint32_t* frame_bytes, uint32_t n,
                        const mac_address& us, fast_ipv6& out) noexcept {
    return find<simd>(frame, frame_bytes, n, us, out);
}

}  // namespace turnpike::packet::TURNPIKE_ISA
