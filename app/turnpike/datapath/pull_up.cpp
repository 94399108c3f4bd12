// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/pull_up.hpp"

#include <algorithm>
#include <cstring>

namespace turnpike::datapath {

bool pull_up(rte_mbuf* m, uint32_t bytes) noexcept {
    if (m->data_len >= bytes) return true;
    const uint32_t missing = bytes - m->data_len;
    if (rte_mbuf_refcnt_read(m) > 1 || !RTE_MBUF_DIRECT(m) || rte_pktmbuf_tailroom(m) < missing)
        return false;
    uint32_t left = missing;
    while (left != 0) {
        rte_mbuf* next = m->next;
        const auto part = static_cast<uint16_t>(std::min<uint32_t>(left, next->data_len));
        std::memcpy(rte_pktmbuf_mtod_offset(m, uint8_t*, m->data_len),
                    rte_pktmbuf_mtod(next, uint8_t*), part);
        m->data_len = static_cast<uint16_t>(m->data_len + part);
        next->data_len = static_cast<uint16_t>(next->data_len - part);
        next->data_off = static_cast<uint16_t>(next->data_off + part);
        left -= part;
        if (next->data_len == 0) {
            m->next = next->next;
            --m->nb_segs;
            rte_pktmbuf_free_seg(next);
        }
    }
    return true;
}

void trim(rte_mbuf* m, uint32_t bytes) noexcept {
    uint32_t keep = m->pkt_len - bytes;
    m->pkt_len = keep;
    rte_mbuf* segment = m;
    uint16_t segments = 1;
    while (keep > segment->data_len) {
        keep -= segment->data_len;
        segment = segment->next;
        ++segments;
    }
    segment->data_len = static_cast<uint16_t>(keep);
    if (segment->next != nullptr) rte_pktmbuf_free(segment->next);
    segment->next = nullptr;
    m->nb_segs = segments;
}

}  // namespace turnpike::datapath
