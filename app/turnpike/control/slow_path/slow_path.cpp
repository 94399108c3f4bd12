// SPDX-License-Identifier: BSD-3-Clause
#include "control/slow_path/slow_path.hpp"

#include <exception>

namespace turnpike::control::slow_path {

void slow_path::take(rte_mbuf* m, tools& t) noexcept {
    packet_in_hand p(m, t.out);
    const datapath::punted& about = p.about();
    const bool gone = t.interface(about.in_interface).kind != datapath::interface_kind::routed;
    if (gone) return p.drop(packet::drop_reason::interface_gone);
    try {
        handlers_[static_cast<size_t>(about.why)]->take(std::move(p));
    } catch (const std::exception&) {  // no memory: the packet was dropped on the way here
    }
}

}  // namespace turnpike::control::slow_path
