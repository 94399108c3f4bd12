// SPDX-License-Identifier: BSD-3-Clause
#include "layout.hpp"

#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_memory.h>
#include <unistd.h>

namespace turnpike::cache_aware {
namespace {

/// The private area of a packet pool; nullptr: it is another pool, or nobody has said yet.
const rte_pktmbuf_pool_private* packet_pool(rte_mempool& mp) noexcept {
    if (mp.private_data_size < sizeof(rte_pktmbuf_pool_private)) return nullptr;
    const auto* p = static_cast<const rte_pktmbuf_pool_private*>(rte_mempool_get_priv(&mp));
    const bool pinned = (p->flags & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0;
    const uint32_t room = pinned ? 0 : p->mbuf_data_room_size;
    const uint32_t bytes = static_cast<uint32_t>(sizeof(rte_mbuf)) + p->mbuf_priv_size + room;
    return RTE_ALIGN_CEIL(bytes, sizeof(uint64_t)) == mp.elt_size ? p : nullptr;
}

}  // namespace

bool is_spread(const rte_mempool& mp) noexcept {
    return (mp.flags & (RTE_MEMPOOL_F_NO_SPREAD | RTE_MEMPOOL_F_NO_CACHE_ALIGN)) == 0;
}

cache::object_layout layout_of(const rte_mempool& mp) {
    rte_mempool_objsz size;
    rte_mempool_calc_obj_size(mp.elt_size, mp.flags | RTE_MEMPOOL_F_NO_SPREAD, &size);
    cache::object_layout out{
        .bytes = size.total_size, .hot = {size.header_size}, .align = RTE_MEMPOOL_ALIGN};
    const auto touched = [&](uint32_t offset) {
        if (offset < mp.elt_size) out.hot.push_back(size.header_size + offset);
    };
    touched(RTE_CACHE_LINE_MIN_SIZE);
    if (const auto* packets = packet_pool(const_cast<rte_mempool&>(mp))) {
        const uint32_t buffer = static_cast<uint32_t>(sizeof(rte_mbuf)) + packets->mbuf_priv_size;
        if (buffer < mp.elt_size)
            touched(RTE_ALIGN_FLOOR(
                buffer + RTE_MIN(packets->mbuf_data_room_size - 1, RTE_PKTMBUF_HEADROOM),
                RTE_CACHE_LINE_MIN_SIZE));
    }
    return out;
}

uint64_t bound_of(uint64_t page_bytes) noexcept {
    constexpr uint64_t huge = 2u << 20;
    return rte_eal_iova_mode() == RTE_IOVA_VA && page_bytes < huge ? 0 : page_bytes;
}

uint64_t page_at(const void* address) noexcept {
    const rte_memseg_list* list = rte_mem_virt2memseg_list(address);
    return list != nullptr ? list->page_sz : static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace turnpike::cache_aware
