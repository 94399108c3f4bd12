// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/rewrite.hpp"

#include <cstring>

#include "packet/ipv6.hpp"
#include "packet/rewrite.hpp"

namespace turnpike::datapath {
namespace {

using packet::drop_reason;

uint8_t* l3_of(const burst& b, uint32_t i) noexcept {
    return rte_pktmbuf_mtod_offset(b.packet[i], uint8_t*, b.parsed[i].l2_bytes);
}

/// Routes that send nothing, and packets for us. True where the packet goes on to a port.
bool goes_on(burst& b, uint32_t i) noexcept {
    switch (b.hop[i].kind) {
        case hop_kind::none:
            b.report_packet(i, drop_reason::no_route);
            return false;
        case hop_kind::blackhole:
            b.drop_packet(i, drop_reason::route_blackhole);
            return false;
        case hop_kind::unreachable:
            b.report_packet(i, drop_reason::route_unreachable);
            return false;
        case hop_kind::local:
            b.punt_packet(i, punt_reason::local);
            return false;
        case hop_kind::broadcast:
            b.drop_packet(i, drop_reason::directed_broadcast);
            return false;
        case hop_kind::connected:
        case hop_kind::gateway:
            break;
    }
    // RFC 4291 section 2.5.6: routers must not forward packets with link-local sources.
    if (!b.parsed[i].is_ipv4() &&
        packet::is_link_local(packet::view<packet::ipv6_header>(l3_of(b, i)).source)) {
        b.drop_packet(i, drop_reason::link_local);
        return false;
    }
    return true;
}

/// Would the next link take it? Reported before anything in the packet is changed.
drop_reason check_ipv4(const burst& b, uint32_t i, const port_entry& out) noexcept {
    const packet::parsed& p = b.parsed[i];
    if (packet::view<packet::ipv4_header>(l3_of(b, i)).ttl <= 1) return drop_reason::ipv4_ttl;
    if (p.l3_bytes > out.mtu)
        return p.is(packet::flag_dont_fragment) ? drop_reason::ipv4_too_big
                                                : drop_reason::ipv4_needs_fragmenting;
    return drop_reason::none;
}

drop_reason check_ipv6(const burst& b, uint32_t i, const port_entry& out) noexcept {
    if (packet::view<packet::ipv6_header>(l3_of(b, i)).hop_limit <= 1)
        return drop_reason::ipv6_hop_limit;
    if (b.parsed[i].l3_bytes > out.mtu) return drop_reason::ipv6_too_big;
    return drop_reason::none;
}

/// The neighbours' slots: a gateway's is the hop's index; an on-link destination's is looked up.
void find_neighbours(const burst& b, const tables& t,
                     std::array<uint32_t, burst_max>& slot) noexcept {
    std::array<neighbour_key, burst_max> key;
    std::array<const neighbour_key*, burst_max> keys;
    std::array<uint32_t, burst_max> of, found;
    uint32_t n = 0;
    for (uint32_t i = 0; i < b.count; ++i) {
        if (b.fate[i] != fate::send) continue;
        slot[i] = b.hop[i].index;
        if (b.hop[i].kind != hop_kind::connected) continue;
        const bool v4 = b.parsed[i].is_ipv4();
        key[n] = {.port = b.out_port[i], .v6 = !v4};
        std::memcpy(
            key[n].address,
            rte_pktmbuf_mtod_offset(b.packet[i], const uint8_t*, b.parsed[i].destination_offset()),
            v4 ? 4 : 16);
        keys[n] = &key[n];
        of[n++] = i;
    }
    if (n != 0) t.neighbours->find(keys.data(), found.data(), n);
    for (uint32_t k = 0; k < n; ++k) slot[of[k]] = found[k];
}

/// One hop less, and the Ethernet header of the next link.
void write_headers(burst& b, uint32_t i, const tables& t, uint32_t slot) noexcept {
    const port_entry& out = t.port[b.out_port[i]];
    const bool v4 = b.parsed[i].is_ipv4();
    uint8_t* l3 = l3_of(b, i);
    const drop_reason why = v4 ? packet::decrement_ttl(packet::view<packet::ipv4_header>(l3))
                               : packet::decrement_hop_limit(packet::view<packet::ipv6_header>(l3));
    if (why != drop_reason::none) [[unlikely]]  // checked before: cannot be
        return b.drop_packet(i, why);
    packet::mac_address mac;
    if (slot == neighbour_table::none || !t.neighbours->mac_of(slot, mac)) [[unlikely]]
        return b.punt_packet(i, punt_reason::resolve);
    // Routed ports take untagged frames only, so layer 3 starts right behind this header.
    packet::write_ethernet(
        packet::view<packet::ethernet_header>(rte_pktmbuf_mtod(b.packet[i], uint8_t*)), mac,
        out.mac, v4 ? packet::ether_type_ipv4 : packet::ether_type_ipv6);
}

}  // namespace

void rewrite(burst& b, const tables& t) noexcept {
    for (uint32_t i = 0; i < b.count; ++i) {
        if (b.fate[i] != fate::open || !goes_on(b, i)) continue;
        const auto out = static_cast<uint16_t>(b.hop[i].kind == hop_kind::connected
                                                   ? b.hop[i].index
                                                   : t.neighbours->port_of(b.hop[i].index));
        const port_entry& port = t.port[out];
        const drop_reason why =
            b.parsed[i].is_ipv4() ? check_ipv4(b, i, port) : check_ipv6(b, i, port);
        b.out_port[i] = out;
        if (why == drop_reason::ipv4_needs_fragmenting) [[unlikely]]
            b.drop_packet(i, why);
        else if (why != drop_reason::none) [[unlikely]]
            b.report_packet(i, why);
        else if (!port.link_up.load(std::memory_order_relaxed)) [[unlikely]]
            b.drop_packet(i, drop_reason::port_down);
        else
            b.fate[i] = fate::send;
    }
    std::array<uint32_t, burst_max> slot;
    find_neighbours(b, t, slot);
    for (uint32_t i = 0; i < b.count; ++i)
        if (b.fate[i] == fate::send) write_headers(b, i, t, slot[i]);
}

}  // namespace turnpike::datapath
