// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/packet_pool.hpp"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>

#include <algorithm>

#include "cache/histogram.hpp"
#include "cache/mempool_dpdk.hpp"
#include "control/forwarding/workers.hpp"
#include "datapath/burst.hpp"

namespace turnpike::control {
namespace {

constexpr const char* our_handler = "cache_aware";
constexpr uint32_t lcore_cache = 256;

std::string handler_of(const state::mempool& pool) {
    if (!pool.ops.empty()) return pool.ops;
    const char* eal = rte_mbuf_user_mempool_ops();
    return eal != nullptr ? eal : our_handler;
}

/// Control and workers share the pool, so single-thread handlers are rejected.
result<void> check_handler(const std::string& name, const std::string& file) {
    std::string known;
    bool found = false;
    for (uint32_t i = 0; i < rte_mempool_ops_table.num_ops; ++i) {
        const std::string one = rte_mempool_ops_table.ops[i].name;
        found = found || one == name;
        known += (known.empty() ? "" : ", ") + one;
    }
    if (!found)
        return fail(
            EINVAL, file,
            fmt::format("mempool.ops: unknown handler '{}'; available: {}. Handlers of other "
                        "plug-ins are loaded with EAL's -d (eal.args)",
                        name, known));
    if (name == "ring_sp_sc" || name == "ring_mp_sc" || name == "ring_sp_mc")
        return fail(EINVAL, file,
                    fmt::format("mempool.ops: '{}' serves one thread, and several share the pool; "
                                "use cache_aware or ring_mp_mc",
                                name));
    return {};
}

}  // namespace

uint32_t buffers_least(const state::configuration& config) {
    uint64_t receiving = 0;
    for (const auto& [name, p] : config.ports) receiving += uint64_t{p.rx_queues} * p.descriptors;
    return static_cast<uint32_t>(std::min<uint64_t>(receiving + lcore_cache, UINT32_MAX));
}

uint32_t buffers_for(const state::configuration& config, uint32_t workers) {
    constexpr uint64_t usual = 16384, largest = 1u << 27;
    if (config.fixed.pool.buffers != 0) return config.fixed.pool.buffers;
    uint64_t rings = 0;
    for (const auto& [name, p] : config.ports)
        rings += uint64_t{p.rx_queues + workers} * p.descriptors;
    const uint64_t most =
        rings + uint64_t{workers} * control_ring_packets + uint64_t{workers + 1} * 2 * lcore_cache;
    return static_cast<uint32_t>(std::clamp(most + most / 2, usual, largest));
}

result<rte_mempool*> make_packet_pool(const state::configuration& config, uint32_t workers) {
    const state::mempool& says = config.fixed.pool;
    const uint32_t buffers = buffers_for(config, workers);
    if (buffers < buffers_least(config))
        return fail(
            EINVAL, config.file,
            fmt::format(
                "mempool: {} buffers are too few: the ports' receive rings and a cache hold "
                "{}; leave the number out, or use fewer descriptors",
                buffers, buffers_least(config)));
    const std::string handler = handler_of(says);
    if (auto good = check_handler(handler, config.file); !good)
        return tl::unexpected<error>(good.error());
    rte_mempool* pool = rte_pktmbuf_pool_create_by_ops(
        "turnpike", buffers, lcore_cache, datapath::mbuf_private_bytes,
        static_cast<uint16_t>(says.buffer_size), static_cast<int>(rte_socket_id()),
        handler.c_str());
    if (pool == nullptr)
        return fail(
            rte_errno, config.file,
            fmt::format("mempool: no memory for {} buffers of {} bytes; reserve more hugepages "
                        "or ask for fewer buffers",
                        buffers, says.buffer_size));
    return pool;
}

result<void> check_pool(const state::configuration& config, uint32_t buffers,
                        const keeping_rings& rings, uint32_t workers) {
    constexpr uint64_t cached = lcore_cache + lcore_cache / 2;  // a mempool cache is flushed above
    const uint64_t least = buffers_least(config) + rings.packets + (workers + 1) * cached;
    if (rings.packets == 0 || buffers >= least) return {};
    return fail(EINVAL, config.file,
                fmt::format("mempool: {} buffers are too few: the ports' receive rings, the "
                            "transmit rings of {}, which keeps sent packets, and caches hold up "
                            "to {}; leave mempool.buffers out, or use fewer descriptors",
                            buffers, rings.driver, least));
}

namespace {

/// The owner may change the length meanwhile: no order is needed, so TSan is not asked.
__attribute__((no_sanitize("thread"), noinline)) uint32_t cached_by_another(
    const rte_mempool_cache& cache) noexcept {
    return *static_cast<const volatile uint32_t*>(&cache.len);
}

}  // namespace

uint32_t left_to_all(rte_mempool& pool) noexcept {
    uint32_t cached = 0;
    for (unsigned lcore = 0; lcore < RTE_MAX_LCORE; ++lcore)
        if (const rte_mempool_cache* cache = rte_mempool_default_cache(&pool, lcore))
            cached += cached_by_another(*cache);
    const uint32_t left = rte_mempool_avail_count(&pool);
    return left - std::min(left, cached);
}

observe::mempool_report facts_of(rte_mempool& pool) {
    const auto objects = cache::addresses_of(pool);
    const auto hot = cache::layout_of(pool).hot;
    const auto caches = cache::caches_of_lcore(rte_get_main_lcore());
    observe::mempool_report out;
    out.ops = rte_mempool_get_ops(pool.ops_index)->name;
    out.placement =
        fmt::format("{:.2f} lines a buffer", cache::distance_of(pool) / RTE_CACHE_LINE_SIZE);
    out.overhead = cache::overhead_of(pool);
    for (const auto& [level, name] : {std::pair{1u, "l1d"}, std::pair{2u, "l2"}})
        if (const auto* l = caches.find(level))
            out.set_max_over_mean[name] = cache::measured(*l, objects, hot).max_over_mean();
    out.low_water = rte_mempool_avail_count(&pool);
    out.buffers = pool.size;
    out.buffer_size = rte_pktmbuf_data_room_size(&pool);
    out.in_use_at_start = rte_mempool_in_use_count(&pool);
    return out;
}

}  // namespace turnpike::control
