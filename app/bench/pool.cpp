// SPDX-License-Identifier: BSD-3-Clause
#include "pool.hpp"

#include <fmt/format.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

namespace turnpike::bench {

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

}  // namespace turnpike::bench
