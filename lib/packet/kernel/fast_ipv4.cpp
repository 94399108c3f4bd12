// SPDX-License-Identifier: BSD-3-Clause
// One packet per lane. Two rows of 16 bytes of each frame are transposed into columns of words in
// host order; all tests run on columns.
//
//   frame  0    2          6          10      14     18         22         26       30          34
//          | us | us       | source   | source| IPv4 | id       | TTL      | source | destination
//          |    |          |          | type  | len  | fragment | checksum |        |
//            to   rest_to    from       type    length identity   ttl       source   destination

#include "packet/fast_ipv4.hpp"
#include "isa/simd/simd.hpp"

namespace {

/// Columns of header words, one frame per lane.
template <class V>
struct columns {
    V to;  ///< memory order: the low half is first
    V rest_to, from, type, length, identity, ttl, source, destination;

    explicit columns(const uint8_t* const* frame) noexcept : to(V::load_u32_each(frame, 0)) {
        V first[4], second[4];
        V::columns_be_each(frame, 2, first);
        V::columns_be_each(frame, 18, second);
        rest_to = first[0];
        from = first[1];
        type = first[2];
        length = first[3];
        identity = second[0];
        ttl = second[1];
        source = second[2];
        destination = second[3];
    }
};

/// Our MAC address in the columns' format.
template <class V>
struct station {
    V to, rest_to;
    explicit station(const turnpike::mac_address& us) noexcept {
        uint16_t first;
        uint32_t rest;
        __builtin_memcpy(&first, us.bytes, sizeof first);
        __builtin_memcpy(&rest, us.bytes + 2, sizeof rest);
        to = V::set1(first);
        rest_to = V::set1(__builtin_bswap32(rest));
    }
};

template <class V>
inline V halves(V a) noexcept {
    return (a & V::set1(0xffff)) + V::template shift_right<16>(a);
}

/// packet::is_ipv4_martian of ipv4.hpp, per lane.
template <class V>
inline V martian(V address) noexcept {
    const V network = V::template shift_right<24>(address);
    return V::template equal<uint32_t>(network, V::set1(0)) |
           V::template equal<uint32_t>(network, V::set1(127)) | V::greater(network, V::set1(223)) |
           V::template equal<uint32_t>(V::template shift_right<16>(address), V::set1(0xa9fe));
}

/// Decrement the TTL and update the checksum: RFC 1624 equation 3, where ~before + after is 0xfeff
/// for any TTL over 0.
template <class V>
inline V decrement_ttl(V ttl) noexcept {
    const V low = V::set1(0xffff);
    const V sum = halves(V::and_not(ttl, low) + V::set1(0xfeff));
    // Adding 0xff to the TTL byte decrements it; the carry leaves the word.
    return (V::and_not(low, ttl) + V::set1(0xff00'0000)) | V::and_not(sum, low);
}

constexpr uint32_t ethernet_bytes = 14;

/// All ones for lanes whose packet passes every test.
template <class V>
inline V is_fast(const columns<V>& c, V frame_bytes, const station<V>& us) noexcept {
    const auto same = [](V a, V b) { return V::template equal<uint32_t>(a, b); };
    const V low = V::set1(0xffff);
    const V total = c.length & low;
    const V good =
        same(c.to & low, us.to) & same(c.rest_to, us.rest_to) &
        same(c.from & V::set1(0x0100'0000), V::set1(0)) & same(c.type & low, V::set1(0x0800)) &
        same(V::template shift_right<24>(c.length), V::set1(0x45)) &
        V::greater(total, V::set1(19)) & V::greater(V::template shift_right<24>(c.ttl), V::set1(1));
    // RFC 1812 section 5.2.2 (2): the one's complement sum of a correct header is 0xffff (RFC
    // 1071).
    const V sum = halves(halves(halves(c.length) + halves(c.identity) + halves(c.ttl) +
                                halves(c.source) + halves(c.destination)));
    // A fragment that would end beyond byte 65,535: offset * 8 + total > 65,535.
    const V max_offset = V::template shift_right<3>(V::and_not(c.length, low));
    const V beyond = V::greater(c.identity & V::set1(0x1fff), max_offset);
    const V bad = V::greater(total + V::set1(ethernet_bytes), frame_bytes) | martian(c.source) |
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
        const V total = c.length & good & V::set1(0xffff);
        fast |= V::sign_bits(good) << i;
        V::store(out.source + i, c.source);
        V::store(out.destination + i, c.destination);
        V::store(out.l3_bytes + i, total);
        V::store(out.forwarded + i, V::swap_bytes(decrement_ttl(c.ttl)));
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
