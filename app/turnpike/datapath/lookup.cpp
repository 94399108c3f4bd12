// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/lookup.hpp"

#include <cstring>

namespace turnpike::datapath {

void lookup(burst& b, const tables& t) noexcept {
    std::array<uint32_t, burst_max> v4;
    uint8_t v6[burst_max][16];
    std::array<uint8_t, burst_max> of_v4, of_v6;
    uint32_t n4 = 0, n6 = 0;
    for (uint32_t i = 0; i < b.count; ++i) {
        if (b.fate[i] != fate::open) continue;
        const auto* destination =
            rte_pktmbuf_mtod_offset(b.packet[i], const uint8_t*, b.parsed[i].destination_offset());
        if (b.parsed[i].is_ipv4()) {
            v4[n4] = load_be<uint32_t>(destination);
            of_v4[n4++] = static_cast<uint8_t>(i);
        } else {
            std::memcpy(v6[n6], destination, 16);
            of_v6[n6++] = static_cast<uint8_t>(i);
        }
    }
    std::array<uint64_t, burst_max> hop;
    if (n4 != 0) {
        t.routes->lookup4(v4.data(), hop.data(), n4);
        for (uint32_t k = 0; k < n4; ++k) b.hop[of_v4[k]] = next_hop::unpack(hop[k]);
    }
    if (n6 != 0) {
        t.routes->lookup6(v6, hop.data(), n6);
        for (uint32_t k = 0; k < n6; ++k) b.hop[of_v6[k]] = next_hop::unpack(hop[k]);
    }
}

}  // namespace turnpike::datapath
