// SPDX-License-Identifier: BSD-3-Clause
// A packet is a lane. Two rows of 16 bytes are turned into columns of words in host order, four frames at a
// time; all tests are then made on columns.
//
//   frame  0    2          6          10      14     18         22         26       30          34
//          | us | us       | source   | source| IPv4 | id       | TTL      | source | destination
//          |    |          |          | type  | len  | fragment | checksum |        |
//            to   rest_to    from       type    length identity   hops       source   destination

namespace {

/// The columns of a burst. Filled whole before they are read: what was just stored in parts is slow to
/// load as one.
struct columns {
    alignas(
        64) uint32_t to[turnpike::packet::plain_burst];  ///< as the host has it: low half is first
    uint32_t rest_to[turnpike::packet::plain_burst], from[turnpike::packet::plain_burst];
    uint32_t type[turnpike::packet::plain_burst], length[turnpike::packet::plain_burst];
    uint32_t identity[turnpike::packet::plain_burst], hops[turnpike::packet::plain_burst];

    template <class V>
    void load(const uint8_t* const* frame, uint32_t n, turnpike::packet::plain_ipv4& out) noexcept {
        for (uint32_t i = 0; i < n; i += 4) {
            const uint8_t *first[4], *second[4];
            for (uint32_t k = 0; k < 4; ++k) {
                first[k] = frame[i + k] + 2;
                second[k] = frame[i + k] + 18;
                __builtin_memcpy(&to[i + k], frame[i + k], sizeof to[0]);
            }
            V::load_columns_be(first, rest_to + i, from + i, type + i, length + i);
            V::load_columns_be(second, identity + i, hops + i, out.source + i, out.destination + i);
        }
    }
};

/// The MAC address that is ours, as the columns have it.
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

/// packet::is_ipv4_martian of ipv4.hpp, lane by lane.
template <class V>
inline V martian(V address) noexcept {
    const V network = V::template shift_right<24>(address);
    return V::template equal<uint32_t>(network, V::set1(0)) |
           V::template equal<uint32_t>(network, V::set1(127)) | V::greater(network, V::set1(223)) |
           V::template equal<uint32_t>(V::template shift_right<16>(address), V::set1(0xa9fe));
}

/// TTL one less, and the checksum with it: RFC 1624 equation 3, where ~before + after is 0xfeff for any
/// TTL over 0.
template <class V>
inline V one_hop_less(V hops) noexcept {
    const V low = V::set1(0xffff);
    const V sum = halves(V::and_not(hops, low) + V::set1(0xfeff));
    // 0xff in the TTL's place is one less; what is carried out of it is cut off with the word.
    return (V::and_not(low, hops) + V::set1(0xff00'0000)) | V::and_not(sum, low);
}

/// All ones where the lane's packet is plain.
template <class V>
inline V is_plain(const columns& c, const turnpike::packet::plain_ipv4& out,
                  const uint32_t* l3_room, uint32_t i, const station<V>& us) noexcept {
    const auto same = [](V a, V b) { return V::template equal<uint32_t>(a, b); };
    const V low = V::set1(0xffff);
    const V length = V::load(c.length + i), total = length & low, hops = V::load(c.hops + i);
    const V source = V::load(out.source + i);
    const V destination = V::load(out.destination + i);
    const V good = same(V::load(c.to + i) & low, us.to) & same(V::load(c.rest_to + i), us.rest_to) &
                   same(V::load(c.from + i) & V::set1(0x0100'0000), V::set1(0)) &
                   same(V::load(c.type + i) & low, V::set1(0x0800)) &
                   same(V::template shift_right<24>(length), V::set1(0x45)) &
                   V::greater(total, V::set1(19)) &
                   V::greater(V::template shift_right<24>(hops), V::set1(1));
    // Section 5.2.2 (2): a right header's one's complement sum is 0xffff (RFC 1071).
    const V sum = halves(halves(halves(length) + halves(V::load(c.identity + i)) + halves(hops) +
                                halves(source) + halves(destination)));
    const V bad = V::greater(total, V::load(l3_room + i)) | martian(source) | martian(destination) |
                  same(source, destination);
    return V::and_not(bad, good & same(sum, low));
}

template <class V>
inline uint32_t find(const uint8_t* const* frame, const uint32_t* l3_room, uint32_t n,
                     const turnpike::mac_address& mac, turnpike::packet::plain_ipv4& out) noexcept {
    constexpr uint32_t step = V::lanes < 4 ? 4 : V::lanes;
    const uint32_t whole = (n + step - 1) / step * step;
    columns c;
    c.load<V>(frame, whole, out);
    const station<V> us(mac);
    uint32_t plain = 0;
    for (uint32_t i = 0; i < whole; i += V::lanes) {
        plain |= V::sign_bits(is_plain<V>(c, out, l3_room, i, us)) << i;
        V::store(out.l3_bytes + i, V::load(c.length + i) & V::set1(0xffff));
        V::store(out.forwarded + i, one_hop_less(V::load(c.hops + i)));
    }
    return n < 32 ? plain & ((1u << n) - 1) : plain;
}

}  // namespace
