// SPDX-License-Identifier: BSD-3-Clause
// Stage lookup: destinations to next hops, the whole burst at once.
//   Reads   packet, parsed; view.{fib4, fib6}
//   Writes  hop
#include <cstring>

#include "datapath/graph.hpp"

namespace turnpike::datapath {

stage_mask run_lookup(context& c, burst& b, packet_mask packets) noexcept {
    std::array<uint32_t, burst_max> v4;
    std::array<ipv6_address, burst_max> v6;
    std::array<uint8_t, burst_max> of_v4, of_v6;
    uint32_t n4 = 0, n6 = 0;
    for_each(packets, [&](uint32_t i) {
        const auto* destination =
            rte_pktmbuf_mtod_offset(b.packet[i], const uint8_t*, b.parsed[i].destination_offset());
        if (b.parsed[i].is_ipv4()) {
            v4[n4] = load_be<uint32_t>(destination);
            of_v4[n4++] = static_cast<uint8_t>(i);
        } else {
            std::memcpy(v6[n6].bytes, destination, 16);
            of_v6[n6++] = static_cast<uint8_t>(i);
        }
    });
    std::array<uint64_t, burst_max> hop;
    if (n4 != 0) {
        c.view->fib4->lookup_bulk({v4.data(), n4}, {hop.data(), n4});
        for (uint32_t k = 0; k < n4; ++k) b.hop[of_v4[k]] = static_cast<uint32_t>(hop[k]);
    }
    if (n6 != 0) {
        c.view->fib6->lookup_bulk({v6.data(), n6}, {hop.data(), n6});
        for (uint32_t k = 0; k < n6; ++k) b.hop[of_v6[k]] = static_cast<uint32_t>(hop[k]);
    }
    return move(b, packets, stage::rewrite);
}

}  // namespace turnpike::datapath
