// SPDX-License-Identifier: BSD-3-Clause
#include "control/slow_path/unresolved.hpp"

namespace turnpike::control::slow_path {

using datapath::drop_reason;

void unresolved::handle(owned_mbuf p) {
    const datapath::punted& about = p.about();
    const datapath::snapshot& v = *context_.published.load(std::memory_order_relaxed);
    if (v.interfaces[about.out.interface].kind != datapath::interface_kind::routed)
        return p.drop(drop_reason::interface_gone);
    const datapath::port_state* port = v.port[about.out.port].state;
    const bool bridge =
        v.interfaces[about.out.interface].bridge != 0;  // a bridge checks its members' links itself
    if (!bridge && (port == nullptr || !port->link_up.load(std::memory_order_relaxed)))
        return p.drop(drop_reason::port_down);
    const ip_address to = address_at(p, about.parsed.destination_offset());
    // The tables may have changed since the worker's lookup: its next hop index may be reused.
    const uint32_t index = context_.nexthop_of(about.in_interface, to, about.nexthop);
    if (!(context_.nexthops[index].out == about.out)) return p.drop(drop_reason::no_route);
    if (context_.known.resolve_by_nexthop(p.get(), index, context_.now_ms)) {
        static_cast<void>(p.release());
        return;
    }
    // By an on-link next hop (connected networks, and routes without a gateway): the destination is
    // the neighbour.
    if (!context_.on_link(about.out.interface, to)) return p.drop(drop_reason::no_route);
    context_.known.resolve(p.get(), about.out.interface, to, context_.now_ms);
    static_cast<void>(p.release());
}

}  // namespace turnpike::control::slow_path
