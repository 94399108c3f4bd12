// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/patch.hpp"

#include <rte_ether.h>

namespace turnpike::datapath {

void patch(burst& b, const tables& t) noexcept {
    const uint16_t out = t.patch_to[b.in_port];
    for (uint32_t i = 0; i < b.count; ++i) {
        b.out_port[i] = out;
        b.drop[i] = b.packet[i]->pkt_len < RTE_ETHER_HDR_LEN ? packet::drop_reason::runt
                                                             : packet::drop_reason::none;
    }
}

}  // namespace turnpike::datapath
