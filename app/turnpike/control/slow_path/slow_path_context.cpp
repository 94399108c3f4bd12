// SPDX-License-Identifier: BSD-3-Clause
#include "control/slow_path/slow_path_context.hpp"

#include <algorithm>
#include <utility>

#include "base/byte_order.hpp"
#include "datapath/nexthop_group.hpp"

namespace turnpike::control::slow_path {

using datapath::drop_reason;

bool slow_path_context::on_link(uint16_t ifindex, const ip_address& a) const noexcept {
    if (a.is_link_local()) return true;
    const datapath::interface& on = interface(ifindex);
    return tables.is_on_link(on.vrf, a, on.addresses->link_nexthop);
}

bool slow_path_context::is_kernels(uint16_t ifindex, const ip_address& a) const noexcept {
    if (!host.has(ifindex)) return false;
    const datapath::snapshot& v = *published.load(std::memory_order_relaxed);
    const uint8_t vrf = v.interfaces[ifindex].vrf;
    const bool own = a.v6 ? v.vrf[vrf].own.has(a.v6_bytes()) : v.vrf[vrf].own.has(a.v4());
    return !own && nexthops[tables.lookup(vrf, a)].kind.load(std::memory_order_relaxed) ==
                       datapath::nexthop_kind::local;
}

namespace {

bool may_fragment(const uint8_t* l3) noexcept {
    return *l3 >> 4 == 4 &&
           (packet::header_at<packet::ipv4_header>(l3).fragment & packet::ipv4_dont_fragment) == 0;
}

/// Null: not a group.
const datapath::nexthop_group* group_of(const datapath::next_hop& nexthop) noexcept {
    return nexthop.kind.load(std::memory_order_relaxed) == datapath::nexthop_kind::group
               ? nexthop.group.load(std::memory_order_relaxed)
               : nullptr;
}

}  // namespace

uint32_t slow_path_context::nexthop_of(uint16_t in, const ip_address& to,
                                       uint32_t chosen) const noexcept {
    const uint32_t index = tables.lookup(this->interface(in).vrf, to);
    const datapath::nexthop_group* const group = group_of(nexthops[index]);
    return group != nullptr && group->has(chosen) ? chosen : index;
}

uint16_t slow_path_context::egress_to(uint16_t in, const ip_address& to) const noexcept {
    if (to.is_link_local()) return in;
    const auto egress_of = [&](uint32_t nexthop) {
        const bool sends = nexthops[nexthop].kind.load(std::memory_order_relaxed) >=
                           datapath::nexthop_kind::failed;
        const uint16_t by = nexthops[nexthop].out.interface;
        return sends && interface(by).vrf == interface(in).vrf ? by : in;
    };
    const uint32_t index = tables.lookup(interface(in).vrf, to);
    const datapath::nexthop_group* const group = group_of(nexthops[index]);
    if (group == nullptr) return egress_of(index);
    const auto *const first = group->nexthop.data(), *const last = first + group->members;
    const bool by_in =
        std::any_of(first, last, [&](uint32_t nexthop) { return egress_of(nexthop) == in; });
    return by_in || first == last ? in : egress_of(*first);
}

ip_address address_at(const owned_mbuf& p, uint32_t offset) noexcept {
    const uint8_t* at = p.lead().data() + offset;
    return p.about().parsed.is_ipv4() ? ip_address::from_v4(load_be<uint32_t>(at))
                                      : ip_address::from_v6(at);
}

void slow_path_context::route_own(owned_mbuf p, const ip_address& to, uint16_t interface) {
    // From here on the packet is originated: no ICMP error is sent about it.
    datapath::punted& about = datapath::punted_of(p.get());
    const uint16_t port = about.in_port;
    about = {};
    about.in_port = port;
    about.in_interface = interface;
    uint16_t by = interface;
    if (!to.is_link_local()) {
        uint32_t index = tables.lookup(this->interface(interface).vrf, to);
        const auto ip = p.lead().subspan(sizeof(packet::ethernet_header));
        uint16_t mtu = UINT16_MAX;
        if (const auto* const group = group_of(nexthops[index]); group != nullptr) {
            mtu = nexthops[index].mtu.load(std::memory_order_relaxed);
            index = group->choose(packet::flow_hash(ip.data(), static_cast<uint32_t>(ip.size()),
                                                    published.load()->sharing));
        }
        datapath::next_hop& nexthop = nexthops[index];
        const datapath::nexthop_kind kind = nexthop.kind.load(std::memory_order_relaxed);
        if (kind < datapath::nexthop_kind::failed) return p.drop(drop_reason::originated_no_route);
        const uint32_t l3_bytes =
            p.get()->pkt_len - static_cast<uint32_t>(sizeof(packet::ethernet_header));
        mtu = std::min(mtu, nexthop.mtu.load(std::memory_order_relaxed));
        if (l3_bytes > mtu) {
            if (!may_fragment(ip.data())) return p.drop(drop_reason::originated_too_big);
            about.mtu = mtu;  // for stage fragment
        }
        if (kind == datapath::nexthop_kind::adjacency) {
            nexthop.mark_used();  // a stale neighbour is probed
            return out.send_by(p.release(), nexthop);
        }
        about.out = nexthop.out;
        if (lent || in_neighbours) return hold(std::move(p), to, interface);
        if (known.resolve_by_nexthop(p.get(), index, now_ms)) {
            static_cast<void>(p.release());
            return;
        }
        by = nexthop.out.interface;
    }
    if (lent || in_neighbours) return hold(std::move(p), to, interface);
    known.resolve(p.get(), by, to, now_ms);
    static_cast<void>(p.release());
}

void slow_path_context::hold(owned_mbuf p, const ip_address& to, uint16_t interface) {
    if (held.size() == max_held) return p.drop(drop_reason::punt_ring_full);
    held.push_back({std::move(p), to, interface});
}

void slow_path_context::route_held() noexcept {
    // A packet that cannot be resolved may cause another one.
    for (held_packet& one : std::exchange(held, {})) {
        try {
            route_own(std::move(one.packet), one.to, one.interface);
        } catch (const std::exception&) {  // out of memory: the packet was dropped during unwinding
        }
    }
}

}  // namespace turnpike::control::slow_path
