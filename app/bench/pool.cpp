// SPDX-License-Identifier: BSD-3-Clause
#include "pool.hpp"

#include <fmt/format.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>

#include "cache/histogram.hpp"

namespace turnpike::bench {

static_assert(walked[2] == RTE_MEMPOOL_ALIGN + sizeof(rte_mbuf) + RTE_PKTMBUF_HEADROOM);

pool make_pool(const pool_wish& wish) {
    static unsigned number = 0;
    const auto element = wish.object_bytes - RTE_MEMPOOL_ALIGN;
    pool mp(rte_mempool_create_empty(fmt::format("bench{}", number++).c_str(), wish.objects,
                                     element, wish.cache, sizeof(rte_pktmbuf_pool_private),
                                     static_cast<int>(rte_socket_id()), wish.flags));
    if (!mp || rte_mempool_set_ops_byname(mp.get(), wish.ops.c_str(), nullptr) != 0) return {};
    rte_pktmbuf_pool_private room{};
    room.mbuf_data_room_size = static_cast<uint16_t>(element - sizeof(rte_mbuf));
    rte_pktmbuf_pool_init(mp.get(), &room);
    if (rte_mempool_populate_default(mp.get()) != static_cast<int>(wish.objects)) return {};
    rte_mempool_obj_iter(mp.get(), rte_pktmbuf_init, nullptr);
    return mp;
}

std::vector<uint64_t> addresses_of(rte_mempool& mp) {
    std::vector<uint64_t> out;
    rte_mempool_obj_iter(
        &mp,
        [](rte_mempool* of, void* into, void* object, unsigned) {
            static_cast<std::vector<uint64_t>*>(into)->push_back(
                reinterpret_cast<uint64_t>(object) - of->header_size);
        },
        &out);
    std::sort(out.begin(), out.end());
    return out;
}

double overhead_of(rte_mempool& mp, uint32_t object_bytes) {
    const auto there = addresses_of(mp);
    size_t page = 0;
    rte_mempool_get_page_size(&mp, &page);
    const auto dense =
        cache::places(cache::packed({.bytes = object_bytes}, page), there.size(), there[0]);
    return static_cast<double>(there.back() - there[0]) /
               static_cast<double>(dense.back() - dense[0]) -
           1;
}

}  // namespace turnpike::bench
