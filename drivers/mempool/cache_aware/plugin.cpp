// SPDX-License-Identifier: BSD-3-Clause
// The mempool ops "cache_aware": DPDK's entry points only.
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

#include <exception>

#include "base/barrier.hpp"
#include "cache/geometry.hpp"
#include "cache/mempool_dpdk.hpp"
#include "free_list.hpp"
#include "layout.hpp"

namespace turnpike::cache_aware {
namespace {

RTE_LOG_REGISTER(log_type, mempool.cache_aware, NOTICE)

/// A pool's pool_data, in memory shared by all processes.
struct pool {
    free_list* list;
    cache::placement placed;
    uint64_t placed_bound;  ///< the bound that `placed` was computed for
    uint32_t objects;       ///< objects placed
};

pool* pool_of(const rte_mempool* mp) noexcept { return static_cast<pool*>(mp->pool_data); }

int no_memory(const rte_mempool& mp, const char* what, size_t bytes) {
    rte_log(RTE_LOG_ERR, static_cast<uint32_t>(log_type),
            "cache_aware: pool '%s': no %zu bytes of memory on socket %d for %s; reserve more "
            "hugepages or make the pool smaller\n",
            mp.name, bytes, mp.socket_id, what);
    return -ENOMEM;
}

cache::placement make_placement(const rte_mempool& mp, uint64_t bound) {
    const auto caches = cache::caches_of_lcore(rte_get_main_lcore());
    const auto placed = cache::place(cache::layout_of(mp), caches, bound, mp.size);
    rte_log(RTE_LOG_INFO, static_cast<uint32_t>(log_type),
            "cache_aware: pool '%s': %s, overhead %.1f%%, for %s\n", mp.name, placed.text().c_str(),
            100 * placed.overhead(), caches.source.c_str());
    return placed;
}

/// Catches allocation failures, the only exceptions here: exceptions must not propagate into DPDK.
template <class Action>
auto guarded(const rte_mempool& mp, const Action& action) noexcept -> decltype(action()) {
    try {
        return action();
    } catch (const std::exception&) {
        rte_log(
            RTE_LOG_ERR, static_cast<uint32_t>(log_type),
            "cache_aware: pool '%s': the process has no memory for the search for a placement\n",
            mp.name);
        return -ENOMEM;
    }
}

/// The search takes milliseconds and memory comes in many chunks: cache the result for the last
/// page size.
cache::placement placement_for(const rte_mempool& mp, uint64_t bound) {
    pool* p = pool_of(&mp);
    if (p == nullptr) return make_placement(mp, bound);
    if (p->placed_bound != bound) {
        p->placed = make_placement(mp, bound);
        p->placed_bound = bound;
    }
    return p->placed;
}

static_assert(RTE_MAX_LCORE <= free_list::max_lcores, "free_list::create() would refuse");

int alloc(rte_mempool* mp) {
    auto* p =
        static_cast<pool*>(rte_zmalloc_socket("cache_aware", sizeof(pool), 64, mp->socket_id));
    if (p == nullptr) return no_memory(*mp, "its description", sizeof(pool));
    const size_t bytes = free_list::bytes_for(mp->size, RTE_MAX_LCORE);
    void* memory = rte_zmalloc_socket("cache_aware", bytes, alignof(free_list), mp->socket_id);
    if (memory == nullptr) {
        rte_free(p);
        return no_memory(*mp, "the list of free objects", bytes);
    }
    p->list = free_list::create(memory, mp->size, RTE_MAX_LCORE, barrier::available);
    p->placed_bound = UINT64_MAX;
    mp->pool_data = p;
    return 0;
}

void free_pool(rte_mempool* mp) {
    pool* p = pool_of(mp);
    if (p == nullptr) return;
    // Its creation failed, or the application gave it less memory.
    if (p->objects < mp->size)
        rte_log(RTE_LOG_WARNING, static_cast<uint32_t>(log_type),
                "cache_aware: pool '%s': freed with %u of %u objects; if it could not be made for "
                "lack of memory, reserve more hugepages or make the pool smaller\n",
                mp->name, p->objects, mp->size);
    rte_free(p->list);
    rte_free(p);
    mp->pool_data = nullptr;
}

int enqueue(rte_mempool* mp, void* const* objects, unsigned n) {
    return pool_of(mp)->list->put(rte_lcore_id(), objects, n) ? 0 : -ENOBUFS;
}

int dequeue(rte_mempool* mp, void** objects, unsigned n) {
    return pool_of(mp)->list->get(rte_lcore_id(), objects, n) ? 0 : -ENOBUFS;
}

unsigned get_count(const rte_mempool* mp) { return pool_of(mp)->list->count(); }

ssize_t mem_size(const rte_mempool* mp, uint32_t objects, uint32_t page_shift,
                 size_t* min_chunk_size, size_t* align) {
    if (!is_spread(*mp))
        return rte_mempool_op_calc_mem_size_default(mp, objects, page_shift, min_chunk_size, align);
    const auto placed =
        placement_for(*mp, page_shift == 0 ? 0 : cache::bound_of(uint64_t{1} << page_shift));
    // A chunk of this size has room for at least one object: a step to it, and the object.
    *min_chunk_size = size_t{placed.step / placed.step_objects + 1 + placed.object} * placed.align;
    *align = RTE_MEMPOOL_ALIGN;
    return static_cast<ssize_t>(placed.bytes_for(objects));
}

int fill(rte_mempool* mp, unsigned most, void* memory, rte_iova_t iova, size_t bytes,
         rte_mempool_populate_obj_cb_t* add, void* add_argument) {
    if (!is_spread(*mp)) {
        const int n =
            rte_mempool_op_populate_default(mp, most, memory, iova, bytes, add, add_argument);
        if (n > 0) pool_of(mp)->objects += static_cast<uint32_t>(n);
        return n;
    }
    size_t page = 0;
    if (const int failed = rte_mempool_get_page_size(mp, &page); failed < 0) return failed;
    const auto placed = placement_for(*mp, page == 0 ? 0 : cache::bound_of(page_at(memory)));
    const auto begin = reinterpret_cast<uintptr_t>(memory);
    const uint64_t length = uint64_t{placed.object} * placed.align;
    unsigned n = 0;
    for (uint64_t at = placed.next(begin); n < most && at + length <= begin + bytes;
         at = placed.next(at + length), ++n) {
        void* object = reinterpret_cast<void*>(at + mp->header_size);
        const uint64_t offset = at + mp->header_size - begin;
        add(mp, add_argument, object, iova == RTE_BAD_IOVA ? RTE_BAD_IOVA : iova + offset);
        rte_mempool_ops_enqueue_bulk(mp, &object, 1);
    }
    pool_of(mp)->objects += n;
    return static_cast<int>(n);
}

ssize_t calc_mem_size(const rte_mempool* mp, uint32_t objects, uint32_t page_shift,
                      size_t* min_chunk_size, size_t* align) {
    return guarded(*mp, [&] { return mem_size(mp, objects, page_shift, min_chunk_size, align); });
}

int populate(rte_mempool* mp, unsigned most, void* memory, rte_iova_t iova, size_t bytes,
             rte_mempool_populate_obj_cb_t* add, void* argument) {
    return guarded(*mp, [&] { return fill(mp, most, memory, iova, bytes, add, argument); });
}

const rte_mempool_ops ops = {.name = "cache_aware",
                             .alloc = alloc,
                             .free = free_pool,
                             .enqueue = enqueue,
                             .dequeue = dequeue,
                             .get_count = get_count,
                             .calc_mem_size = calc_mem_size,
                             .populate = populate,
                             .get_info = nullptr,
                             .dequeue_contig_blocks = nullptr};
RTE_MEMPOOL_REGISTER_OPS(ops)

}  // namespace
}  // namespace turnpike::cache_aware
