// SPDX-License-Identifier: BSD-3-Clause
// Packets whose segments ASan watches to the byte, for targets that run the real controller.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace turnpike::test {

/// One segment; null where the pool is empty.
/// exact  its bytes are a heap block of exactly their size: ASan sees any byte too many
inline rte_mbuf* segment_of(rte_mempool* pool, std::span<const uint8_t> bytes, bool exact) {
    rte_mbuf* m = rte_pktmbuf_alloc(pool);
    if (m == nullptr) return nullptr;
    const auto n = static_cast<uint16_t>(bytes.size());
    if (exact && n != 0) {
        auto* shared = new rte_mbuf_ext_shared_info{};
        shared->free_cb = [](void* memory, void* info) {
            std::free(memory);
            delete static_cast<rte_mbuf_ext_shared_info*>(info);
        };
        shared->fcb_opaque = shared;
        rte_mbuf_ext_refcnt_set(shared, 1);
        rte_pktmbuf_attach_extbuf(m, std::malloc(n), RTE_BAD_IOVA, n, shared);
    }
    if (n != 0) std::copy(bytes.begin(), bytes.end(), rte_pktmbuf_mtod(m, uint8_t*));
    m->data_len = n;
    m->pkt_len = n;
    return m;
}

}  // namespace turnpike::test
