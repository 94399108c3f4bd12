// SPDX-License-Identifier: BSD-3-Clause
#include "reference_parse.hpp"

#include <map>
#include <set>

namespace turnpike::test {
namespace {

using enum packet::drop_reason;

struct reference {
    const byte_vector& frame;
    packet::parsed p{};

    size_t u8(size_t at) const { return frame.at(at); }
    size_t u16(size_t at) const { return u8(at) * 256 + u8(at + 1); }
    size_t u32(size_t at) const { return u16(at) * 65536 + u16(at + 2); }
    bool drop(packet::drop_reason why) {
        p.l3_drop = why;
        return false;
    }
    void set(packet::packet_flag flag, bool on) {
        p.flags = static_cast<uint16_t>(on ? p.flags | flag : p.flags);
    }

    void upper(size_t at, size_t end, bool later);
    bool tags();
    bool ip4(size_t at);
    bool ip6(size_t at);
    bool extension(size_t kind, size_t at, bool first);
    void whole();
};

void reference::upper(size_t at, size_t end, bool later) {
    const bool six = p.l3 == packet::l3_kind::ipv6;
    static const std::map<size_t, size_t> header_bytes{{6, 20},   {17, 8}, {136, 8},
                                                       {132, 12}, {1, 8},  {58, 8}};
    const size_t protocol = p.upper_protocol;
    p.upper_offset = static_cast<uint16_t>(at);
    const bool foreign_icmp = protocol == (six ? 1 : 58);
    if (later || foreign_icmp || !header_bytes.contains(protocol)) return;
    const size_t bytes = header_bytes.at(protocol);
    if (end - at < bytes) return set(packet::flag_upper_cut, true);
    if (at + bytes > 256) {
        drop(ipv6_chain_long);
        return;
    }
    if (protocol == 1 || protocol == 58) {
        set(packet::flag_icmp, true);
        p.icmp_type = frame[at];
        p.icmp_code = frame[at + 1];
        return;
    }
    set(packet::flag_ports, true);
    p.source_port = static_cast<uint16_t>(u16(at));
    p.destination_port = static_cast<uint16_t>(u16(at + 2));
    if (protocol != 6) return;
    set(packet::flag_tcp, true);
    p.tcp_flags = frame[at + 13];
}

bool reference::tags() {
    std::vector<size_t> tcis;
    while (p.type == 0x8100 || p.type == 0x88a8) {
        if (tcis.size() == 2) return drop(vlan_depth);
        if (frame.size() - p.l2_bytes < 4) return drop(vlan_truncated);
        tcis.push_back(u16(p.l2_bytes));
        p.type = static_cast<uint16_t>(u16(p.l2_bytes + 2u));
        p.l2_bytes = static_cast<uint8_t>(p.l2_bytes + 4);
        p.vlan_tags = static_cast<uint8_t>(tcis.size());
        (tcis.size() == 1 ? p.outer_tci : p.inner_tci) = static_cast<uint16_t>(tcis.back());
    }
    for (const size_t tci : tcis)
        if (tci % 4096 == 4095) return drop(vlan_id_reserved);
    return true;
}

bool reference::ip4(size_t at) {
    p.l3 = packet::l3_kind::ipv4;
    const size_t room = frame.size() - at;
    if (room < 20) return drop(ipv4_truncated);
    if (u8(at) / 16 != 4) return drop(ipv4_version);
    const size_t header = u8(at) % 16 * 4;
    const size_t total = u16(at + 2);
    if (header < 20) return drop(ipv4_header_length);
    if (total < header) return drop(ipv4_total_length);
    if (total > room) return drop(ipv4_truncated);
    const size_t offset = u16(at + 6) % 0x2000 * 8;
    if (offset + total > 65535) return drop(ipv4_fragment_beyond_end);
    p.l3_bytes = static_cast<uint32_t>(total);
    p.padding_bytes = static_cast<uint32_t>(room - total);
    p.ipv4_header_bytes = static_cast<uint8_t>(header);
    p.fragment_id = static_cast<uint32_t>(u16(at + 4));
    const bool more = u16(at + 6) / 0x2000 % 2 == 1;
    p.fragment_offset_bytes = static_cast<uint16_t>(offset);
    p.upper_protocol = frame[at + 9];
    set(packet::flag_ipv4_options, header != 20);
    set(packet::flag_dont_fragment, u16(at + 6) / 0x4000 % 2 == 1);
    set(packet::flag_more_fragments, more);
    set(packet::flag_fragment, more || offset != 0);
    upper(at + header, at + total, offset != 0);
    return true;
}

bool reference::extension(size_t kind, size_t at, bool first) {
    if (kind == 0 && !first) return drop(ipv6_hop_by_hop_late);
    set(packet::flag_hop_by_hop, kind == 0);
    if (kind == 43 && u8(at + 2) == 0 && u8(at + 3) > 0) return drop(ipv6_routing_type_0);
    set(packet::flag_routing, kind == 43);
    set(packet::flag_authentication, kind == 51);
    set(packet::flag_destination_options, kind == 60);
    if (kind != 44) return true;
    if (p.is(packet::flag_fragment_header)) return drop(ipv6_fragment_twice);
    const size_t offset = u16(at + 2) / 8 * 8;
    const bool more = u16(at + 2) % 2 == 1;
    p.fragment_id = static_cast<uint32_t>(u32(at + 4));
    p.fragment_offset_bytes = static_cast<uint16_t>(offset);
    set(packet::flag_fragment_header, true);
    set(packet::flag_more_fragments, more);
    set(packet::flag_fragment, more || offset != 0);
    return true;
}

bool reference::ip6(size_t at) {
    static const std::set<size_t> extensions{0, 43, 44, 51, 60};
    p.l3 = packet::l3_kind::ipv6;
    const size_t room = frame.size() - at;
    if (room < 40) return drop(ipv6_truncated);
    if (u8(at) / 16 != 6) return drop(ipv6_version);
    const size_t payload = u16(at + 4);
    if (40 + payload > room) return drop(ipv6_truncated);
    size_t next = u8(at + 6);
    if (payload == 0 && next == 0) return drop(ipv6_jumbogram);
    p.l3_bytes = static_cast<uint32_t>(40 + payload);
    p.padding_bytes = static_cast<uint32_t>(room - 40 - payload);
    const size_t end = at + 40 + payload;
    size_t here = at + 40;
    bool later = false;
    while (extensions.contains(next) && !later) {
        if (end - here < 8) return drop(ipv6_chain_truncated);
        if (here + 8 > 256) return drop(ipv6_chain_long);
        size_t bytes = 8 + u8(here + 1) * 8;
        if (next == 44) bytes = 8;
        if (next == 51) bytes = 8 + u8(here + 1) * 4;
        if (end - here < bytes) return drop(ipv6_chain_truncated);
        if (!extension(next, here, here == at + 40)) return false;
        later = p.fragment_offset_bytes != 0;
        next = u8(here);
        here += bytes;
    }
    p.upper_protocol = static_cast<uint8_t>(next);
    upper(here, end, later);
    return true;
}

void reference::whole() {
    if (frame.size() < 14) {
        p.l2_drop = p.l3_drop = runt;
        return;
    }
    p.type = static_cast<uint16_t>(u16(12));
    p.l2_bytes = 14;
    if (!tags()) return;
    const size_t room = frame.size() - p.l2_bytes;
    if (u8(6) % 2 == 1) {
        drop(ether_source_group);
    } else if (p.type == 0x0800) {
        ip4(p.l2_bytes);
    } else if (p.type == 0x86dd) {
        ip6(p.l2_bytes);
    } else if (p.type == 0x0806) {
        p.l3 = packet::l3_kind::arp;
        if (room < 28) {
            drop(arp_truncated);
            return;
        }
        p.l3_bytes = 28;
        p.padding_bytes = static_cast<uint32_t>(room - 28);
    } else {
        p.l3_bytes = static_cast<uint32_t>(room);
        drop(ether_type_unknown);
    }
}

}  // namespace

packet::parsed reference_parse(const byte_vector& frame) {
    reference r{frame};
    r.whole();
    return r.p;
}

}  // namespace turnpike::test
