// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/patch.hpp"

namespace turnpike::datapath {

void patch(burst& b, const tables& t) noexcept {
    const uint16_t out = t.port[b.in_port].patch_to;
    for (uint32_t i = 0; i < b.count; ++i) {
        b.fate[i] = fate::send;
        b.out_port[i] = out;
        if (b.packet[i]->pkt_len < sizeof(packet::ethernet_header)) [[unlikely]]
            b.drop_packet(i, packet::drop_reason::runt);
    }
}

}  // namespace turnpike::datapath
