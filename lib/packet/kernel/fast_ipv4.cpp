// SPDX-License-Identifier: BSD-3-Clause
// One packet per lane. Two rows of 16 bytes of each frame are transposed into columns of words; all tests run on columns. Words
// are in memory order, little-endian, except where they are compared with numbers: a header's sum, too (RFC 1071 section 2 (B)).
//
//   frame  0    4            8        12           18         22         26       30          34
//          | us | us, source | source | type, 4, 5 | id       | TTL      | source | destination
//          |    |            |        | tos        | fragment | checksum |        |
//            to   to_from               kind         identity   ttl        source   destination
//                                          14 ... 18: length

#include "packet/fast_ipv4.hpp"
#include "isa/simd/simd.hpp"

namespace {

template <class V>
inline V halves(V a) noexcept {
    return (a & V::set1(0xffff)) + V::template shift_right<16>(a);
}

/// Columns of header words, one frame per lane.
template <class V>
struct columns {
    V to, to_from, kind, length, identity, ttl;
    V addresses;                   ///< sum of their halves
    V total, source, destination;  ///< host order

    explicit columns(const uint8_t* const* frame) noexcept : length(V::load_u32_each(frame, 14)) {
        V link[4], header[4];
        V::columns_each(frame, 0, link);
        V::columns_each(frame, 18, header);
        to = link[0];
        to_from = link[1];
        kind = link[3];
        identity = header[0];
        ttl = header[1];
        addresses = halves(header[2]) + halves(header[3]);
        total = V::swap_bytes(length) & V::set1(0xffff);
        source = V::swap_bytes(header[2]);
        destination = V::swap_bytes(header[3]);
    }
};

/// Our MAC address in the columns' format.
template <class V>
struct station {
    V to, to_from;
    explicit station(const turnpike::mac_address& us) noexcept {
        uint32_t first;
        uint16_t rest;
        __builtin_memcpy(&first, us.bytes, sizeof first);
        __builtin_memcpy(&rest, us.bytes + 4, sizeof rest);
        to = V::set1(first);
        to_from = V::set1(rest);
    }
};

/// packet::is_ipv4_martian of ipv4.hpp, per lane.
template <class V>
inline V martian(V address) noexcept {
    const V network = V::template shift_right<24>(address);
    return V::template equal<uint32_t>(network, V::set1(0)) |
           V::template equal<uint32_t>(network, V::set1(127)) | V::greater(network, V::set1(223)) |
           V::template equal<uint32_t>(V::template shift_right<16>(address), V::set1(0xa9fe));
}

/// Decrement the TTL, which is over 0, and update the checksum: RFC 1624 equation 3, where ~before + after is 0xfeff for any
/// TTL, 0xfffe in memory order.
template <class V>
inline V decrement_ttl(V ttl) noexcept {
    const V low = V::set1(0xffff);
    const V sum = halves(V::and_not(V::template shift_right<16>(ttl), low) + V::set1(0xfffe));
    return (ttl & low) + V::set1(~0U) + V::shift_left_by(V::and_not(sum, low), 16);
}

constexpr uint32_t ethernet_bytes = 14;

/// All ones for lanes whose packet passes every test.
template <class V>
inline V is_fast(const columns<V>& c, V frame_bytes, const station<V>& us) noexcept {
    const auto same = [](V a, V b) { return V::template equal<uint32_t>(a, b); };
    const V low = V::set1(0xffff);
    // The group bit of the source's MAC address is 0, the type is IPv4, version and header length are 4 and 5.
    const V good = same(c.to, us.to) & same(c.to_from & V::set1(0x0001'ffff), us.to_from) &
                   same(c.kind & V::set1(0x00ff'ffff), V::set1(0x0045'0008)) &
                   V::greater(c.total, V::set1(19)) & V::greater(c.ttl & V::set1(0xff), V::set1(1));
    // RFC 1812 section 5.2.2 (2): the one's complement sum of a correct header is 0xffff (RFC
    // 1071).
    const V sum =
        halves(halves(halves(c.length) + halves(c.identity) + halves(c.ttl) + c.addresses));
    // A fragment that would end beyond byte 65,535: offset * 8 + total > 65,535.
    const V max_offset = V::template shift_right<3>(V::and_not(c.total, low));
    const V beyond = V::greater(V::swap_bytes(c.identity) & V::set1(0x1fff), max_offset);
    const V bad = V::greater(c.total + V::set1(ethernet_bytes), frame_bytes) | martian(c.source) |
                  martian(c.destination) | same(c.source, c.destination) | beyond;
    return V::and_not(bad, good & same(sum, low));
}

template <class V>
inline uint32_t find(const uint8_t* const* frame, const uint32_t* frame_bytes, uint32_t n,
                     const turnpike::mac_address& mac, turnpike::packet::fast_ipv4& out) noexcept {
    const station<V> us(mac);
    uint32_t fast = 0;
    V longest = V::set1(0), padded = longest;
    for (uint32_t i = 0; i < n; i += V::lanes) {
        const columns<V> c(frame + i);
        const V bytes = V::load(frame_bytes + i), good = is_fast(c, bytes, us);
        const V total = c.total & good;
        fast |= V::sign_bits(good) << i;
        V::store(out.source + i, c.source);
        V::store(out.destination + i, c.destination);
        V::store(out.l3_bytes + i, total);
        V::store(out.forwarded + i, decrement_ttl(c.ttl));
        longest = V::most(longest, total);
        padded = padded | (V::greater(bytes, total + V::set1(ethernet_bytes)) & good);
    }
    out.longest = longest.highest();
    out.padded = V::any(padded);
    return n < 32 ? fast & ((1u << n) - 1) : fast;
}

}  // namespace

namespace turnpike::packet::TURNPIKE_ISA {

uint32_t find_fast_ipv4(const uint8_t* const* frame, const uint32_t* frame_bytes, uint32_t n,
                        const mac_address& us, fast_ipv4& out) noexcept {
    return find<simd>(frame, frame_bytes, n, us, out);
}

}  // namespace turnpike::packet::TURNPIKE_ISA
