// SPDX-License-Identifier: BSD-3-Clause
#include "control/packet_pool.hpp"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>

#include "cache/histogram.hpp"
#include "cache/mempool_dpdk.hpp"
#include "datapath/burst.hpp"

namespace turnpike::control {
namespace {

constexpr const char* our_handler = "cache_aware";
constexpr uint32_t lcore_cache = 256;

std::string handler_of(const config::model& model) {
    if (!model.pool.ops.empty()) return model.pool.ops;
    const char* eal = rte_mbuf_user_mempool_ops();
    return eal != nullptr ? eal : our_handler;
}

/// Control and workers share the pool, whatever the handler is called.
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
            fmt::format("mempool.ops: there is no handler '{}'; here are: {}. Handlers of other "
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

result<rte_mempool*> make_packet_pool(const config::model& model) {
    const std::string handler = handler_of(model);
    if (auto good = check_handler(handler, model.file); !good)
        return tl::unexpected<error>(good.error());
    rte_mempool* pool = rte_pktmbuf_pool_create_by_ops(
        "turnpike", model.pool.buffers, lcore_cache, datapath::mbuf_private_bytes,
        static_cast<uint16_t>(model.pool.buffer_size), static_cast<int>(rte_socket_id()),
        handler.c_str());
    if (pool == nullptr)
        return fail(
            rte_errno, model.file,
            fmt::format("mempool: no room for {} buffers of {} bytes; reserve more hugepages "
                        "or ask for fewer buffers",
                        model.pool.buffers, model.pool.buffer_size));
    return pool;
}

cost::mempool_report facts_of(rte_mempool& pool) {
    const auto objects = cache::addresses_of(pool);
    const auto hot = cache::layout_of(pool).hot;
    const auto caches = cache::geometry_or_typical();
    cost::mempool_report out;
    out.ops = rte_mempool_get_ops(pool.ops_index)->name;
    out.placement = fmt::format("{:.2f} lines a buffer",
                                static_cast<double>(objects.back() - objects.front()) /
                                    static_cast<double>(objects.size() - 1) / RTE_CACHE_LINE_SIZE);
    out.overhead = cache::overhead_of(pool);
    for (const auto& [level, name] : {std::pair{1u, "l1d"}, std::pair{2u, "l2"}})
        if (const auto* l = caches.find(level))
            out.set_max_over_mean[name] = cache::measured(*l, objects, hot).most_over_mean();
    out.low_water = rte_mempool_avail_count(&pool);
    return out;
}

}  // namespace turnpike::control
