// SPDX-License-Identifier: BSD-3-Clause
#include "frames.hpp"

#include <unistd.h>

#include <algorithm>

namespace turnpike::xsk {
namespace {

tl::unexpected<error> refuse(const rte_mempool& pool, const std::string& why) {
    return fail(EINVAL, std::string("pool '") + pool.name + "'", "cannot be a UMEM: " + why);
}

}  // namespace

result<frame_layout> layout_of(rte_mempool& pool) {
    if (pool.private_data_size < sizeof(rte_pktmbuf_pool_private) ||
        pool.elt_size < sizeof(rte_mbuf))
        return refuse(pool, "it is not a pool of packet buffers (rte_pktmbuf_pool_create)");
    if ((rte_pktmbuf_priv_flags(&pool) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0)
        return refuse(pool, "its buffers are external: they do not follow their mbufs in memory");
    const uint32_t buffer = rte_pktmbuf_data_room_size(&pool);
    if (buffer < least_chunk_bytes)
        return refuse(pool, "its buffers have " + std::to_string(buffer) +
                                " bytes, a UMEM's at least " + std::to_string(least_chunk_bytes) +
                                " (make the pool with a data room of that or more)");
    frame_layout out{
        .pool = &pool,
        .chunk_bytes = std::min(buffer, max_chunk_bytes),
        .mbuf_to_buffer = static_cast<uint32_t>(sizeof(rte_mbuf)) + rte_pktmbuf_priv_size(&pool)};
    uintptr_t first = UINTPTR_MAX, last = 0;
    uint64_t used = 0;
    const rte_mempool_memhdr* piece = nullptr;
    STAILQ_FOREACH(piece, &pool.mem_list, next) {
        const auto at = reinterpret_cast<uintptr_t>(piece->addr);
        first = std::min(first, at);
        last = std::max(last, at + piece->len);
        used += piece->len;
        ++out.pieces;
    }
    if (out.pieces == 0) return refuse(pool, "it has no memory");
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    out.base = first / page * page;
    out.bytes = (last - out.base + page - 1) / page * page;
    // The UMEM also pins gaps between the pool's memory chunks: allow no more than the size of the
    // pool itself, plus a few pages.
    if (out.bytes > 2 * used + (64u << 20))
        return refuse(pool, "its memory lies in " + std::to_string(out.pieces) +
                                " pieces, far apart (" + std::to_string(out.bytes >> 20) +
                                " MB from the first to the last): make it before other large "
                                "pools, or with larger pages");
    return out;
}

uint32_t frame_set::free_all(const frame_layout& layout) noexcept {
    struct job {
        frame_set* set;
        const frame_layout* layout;
        uint32_t freed;
    } work{this, &layout, 0};
    rte_mempool_obj_iter(
        layout.pool,
        [](rte_mempool*, void* argument, void* object, unsigned) {
            auto* w = static_cast<job*>(argument);
            auto* m = static_cast<rte_mbuf*>(object);
            if (!w->set->erase(w->layout->buffer_of(m))) return;
            rte_pktmbuf_free_seg(m);
            ++w->freed;
        },
        &work);
    return work.freed;
}

}  // namespace turnpike::xsk
