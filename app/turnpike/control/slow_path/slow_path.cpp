// SPDX-License-Identifier: BSD-3-Clause
#include "control/slow_path/slow_path.hpp"

#include <exception>

namespace turnpike::control::slow_path {

namespace {

/// Whether a packet's ingress interface is still of the kind that its reason needs.
bool has_its_interface(const datapath::punted& about, const slow_path_context& t) noexcept {
    using datapath::punt_reason;
    const bool of_bridge = about.why == punt_reason::reserved ||
                           about.why == punt_reason::too_big ||
                           about.why == punt_reason::neigh_suppress;
    const auto needs =
        of_bridge ? datapath::interface_kind::bridged : datapath::interface_kind::routed;
    // A tunnel's packet waits for its neighbour like a forwarded one.
    const datapath::interface& in = t.interface(about.in_interface);
    const bool of_tunnel = about.why == punt_reason::resolve && in.port == datapath::tunnel_port &&
                           in.kind == datapath::interface_kind::bridged;
    return in.kind == needs || of_tunnel;
}

}  // namespace

void slow_path::handle(rte_mbuf* m, slow_path_context& t) noexcept {
    owned_mbuf p(m, t.out);
    if (!has_its_interface(p.about(), t)) return p.drop(datapath::drop_reason::interface_gone);
    try {
        handlers_[static_cast<size_t>(p.about().why)]->handle(std::move(p));
    } catch (const std::exception&) {  // out of memory: the packet was dropped during unwinding
    }
}

bool slow_path::answer(rte_mbuf* m, slow_path_context& t) noexcept {
    owned_mbuf p(m, t.out);
    bool done = false;
    try {
        done = has_its_interface(p.about(), t) &&
               handlers_[static_cast<size_t>(p.about().why)]->answer(p);
    } catch (const std::exception&) {  // out of memory: handle() answers
    }
    static_cast<void>(p.release());
    return done;
}

}  // namespace turnpike::control::slow_path
