// SPDX-License-Identifier: BSD-3-Clause
// FIB lookup of a burst, both families and all VRFs: shared by stages lookup (destinations), urpf (sources) and encap
// (remote VTEPs).
#pragma once

#include <cstring>

#include "datapath/graph.hpp"

namespace turnpike::datapath {

/// For packets of one VRF.
/// address_of(i, v4)  pointer to the address, and its family
/// found(i, hop)      called for each packet
template <class AddressOf, class Found>
void look_up_in(const vrf_snapshot& routing, packet_mask packets, const AddressOf& address_of,
                const Found& found) noexcept {
    std::array<uint32_t, burst_max> v4;
    std::array<ipv6_address, burst_max> v6;
    std::array<uint8_t, burst_max> of_v4, of_v6;
    uint32_t n4 = 0, n6 = 0;
    for_each(packets, [&](uint32_t i) {
        bool is_v4 = false;
        const uint8_t* const address = address_of(i, is_v4);
        if (is_v4) {
            v4[n4] = load_be<uint32_t>(address);
            of_v4[n4++] = static_cast<uint8_t>(i);
        } else {
            std::memcpy(v6[n6].bytes, address, 16);
            of_v6[n6++] = static_cast<uint8_t>(i);
        }
    });
    std::array<uint64_t, burst_max> nexthop;
    if (n4 != 0) {
        routing.fib4->lookup_bulk({v4.data(), n4}, {nexthop.data(), n4});
        for (uint32_t k = 0; k < n4; ++k) found(of_v4[k], static_cast<uint32_t>(nexthop[k]));
    }
    if (n6 != 0) {
        routing.fib6->lookup_bulk({v6.data(), n6}, {nexthop.data(), n6});
        for (uint32_t k = 0; k < n6; ++k) found(of_v6[k], static_cast<uint32_t>(nexthop[k]));
    }
}

/// One bulk lookup for each VRF.
/// items     packets, or other objects with numbers below burst_max
/// vrf_of(i)  the VRF of an item
template <class VrfOf, class AddressOf, class Found>
void look_up(const snapshot& v, packet_mask items, const VrfOf& vrf_of, const AddressOf& address_of,
             const Found& found) noexcept {
    while (items != 0) {
        const uint8_t vrf = vrf_of(static_cast<uint32_t>(std::countr_zero(items)));
        packet_mask same = items;
        if (v.vrf.size() > 1) [[unlikely]] {
            same = 0;
            for_each(items, [&](uint32_t i) { same |= packet_mask{vrf_of(i) == vrf} << i; });
        }
        look_up_in(v.vrf[vrf], same, address_of, found);
        items &= ~same;
    }
}

/// For packets, in the VRFs of their interfaces in[].
template <class AddressOf, class Found>
void look_up(const snapshot& v, const burst& b, packet_mask packets, const AddressOf& address_of,
             const Found& found) noexcept {
    look_up(
        v, packets, [&](uint32_t i) { return v.interfaces[b.in[i]].vrf; }, address_of, found);
}

/// Pointer to an address in a parsed packet.
inline const uint8_t* address_at(const burst& b, uint32_t i, uint32_t offset, bool& v4) noexcept {
    v4 = b.parsed[i].is_ipv4();
    return rte_pktmbuf_mtod_offset(b.packet[i], const uint8_t*, offset);
}

}  // namespace turnpike::datapath
