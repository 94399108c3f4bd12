// SPDX-License-Identifier: BSD-3-Clause
// Header parsing of a packet in an mbuf.
#pragma once

#include "datapath/pull_up.hpp"
#include "packet/parse.hpp"

namespace turnpike::datapath {

/// Parse by lib/packet; make the headers contiguous where necessary. False: not possible.
inline bool read_headers(rte_mbuf* m, packet::parsed& p) noexcept {
    for (int round = 0; round < 2; ++round) {
        const std::span lead(rte_pktmbuf_mtod(m, const uint8_t*), m->data_len);
        if (packet::parse(lead, m->pkt_len, p) == packet::parse_status::done) return true;
        if (!pull_up(m, packet::enough_bytes(m->pkt_len))) break;
    }
    return false;
}

}  // namespace turnpike::datapath
