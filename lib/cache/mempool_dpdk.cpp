// SPDX-License-Identifier: BSD-3-Clause
#include "cache/mempool_dpdk.hpp"

#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>

#include "cache/histogram.hpp"

namespace turnpike::cache {
namespace {

/// The private area of a packet pool; nullptr: another kind of pool, or not initialized yet.
const rte_pktmbuf_pool_private* packet_pool(const rte_mempool& mp) noexcept {
    if (mp.private_data_size < sizeof(rte_pktmbuf_pool_private)) return nullptr;
    const auto* p = static_cast<const rte_pktmbuf_pool_private*>(
        rte_mempool_get_priv(const_cast<rte_mempool*>(&mp)));
    const bool pinned = (p->flags & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0;
    const uint32_t room = pinned ? 0 : p->mbuf_data_room_size;
    const uint32_t bytes = static_cast<uint32_t>(sizeof(rte_mbuf)) + p->mbuf_priv_size + room;
    return RTE_ALIGN_CEIL(bytes, sizeof(uint64_t)) == mp.elt_size ? p : nullptr;
}

/// Start addresses of the objects by stretch of contiguous memory: pools take several memzones where one is too large.
std::vector<std::vector<uint64_t>> stretches_of(rte_mempool& mp) {
    struct range {
        uint64_t begin, end;
    };
    std::vector<range> chunks;
    rte_mempool_mem_iter(
        &mp,
        [](rte_mempool*, void* into, rte_mempool_memhdr* chunk, unsigned) {
            const auto begin = reinterpret_cast<uint64_t>(chunk->addr);
            static_cast<std::vector<range>*>(into)->push_back({begin, begin + chunk->len});
        },
        &chunks);
    std::sort(chunks.begin(), chunks.end(),
              [](const range& a, const range& b) { return a.begin < b.begin; });
    std::vector<std::vector<uint64_t>> out;
    uint64_t end = 0;
    auto chunk = chunks.begin();
    for (const uint64_t at : addresses_of(mp)) {
        bool next = out.empty();
        for (; chunk != chunks.end() && chunk->begin <= at; ++chunk) {
            next |= chunk->begin != end;
            end = chunk->end;
        }
        if (next) out.emplace_back();
        out.back().push_back(at);
    }
    return out;
}

}  // namespace

object_layout layout_of(const rte_mempool& mp) {
    rte_mempool_objsz size;
    rte_mempool_calc_obj_size(mp.elt_size, mp.flags | RTE_MEMPOOL_F_NO_SPREAD, &size);
    object_layout out{
        .bytes = size.total_size, .hot = {size.header_size}, .align = RTE_MEMPOOL_ALIGN};
    const auto touched = [&](uint32_t offset) {
        if (offset < mp.elt_size) out.hot.push_back(size.header_size + offset);
    };
    touched(RTE_CACHE_LINE_MIN_SIZE);
    if (const auto* packets = packet_pool(mp)) {
        const uint32_t buffer = static_cast<uint32_t>(sizeof(rte_mbuf)) + packets->mbuf_priv_size;
        const uint32_t room = mp.elt_size - buffer;
        if (room > 0)
            touched(RTE_ALIGN_FLOOR(buffer + std::min<uint32_t>(room - 1, RTE_PKTMBUF_HEADROOM),
                                    RTE_CACHE_LINE_MIN_SIZE));
    }
    return out;
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

uint64_t bound_of(uint64_t page_bytes) noexcept {
    constexpr uint64_t huge = 2u << 20;
    return rte_eal_iova_mode() == RTE_IOVA_VA && page_bytes < huge ? 0 : page_bytes;
}

geometry caches_of_lcore(unsigned lcore, const std::filesystem::path& sysfs) {
    const rte_cpuset_t cpus = rte_lcore_cpuset(lcore);
    unsigned cpu = 0;
    while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &cpus)) ++cpu;
    return geometry_or_typical(sysfs, cpu);  // no such CPU: typical
}

double distance_of(rte_mempool& mp) {
    uint64_t bytes = 0, steps = 0;
    for (const auto& there : stretches_of(mp)) {
        bytes += there.back() - there[0];
        steps += there.size() - 1;
    }
    return steps == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(steps);
}

double overhead_of(rte_mempool& mp) {
    size_t page = 0;
    if (rte_mempool_get_page_size(&mp, &page) != 0) return 0;
    const placement densest = packed(layout_of(mp), bound_of(page));
    uint64_t bytes = 0, least = 0;
    for (const auto& there : stretches_of(mp)) {
        const auto dense = places(densest, there.size(), there[0]);
        bytes += there.back() - there[0];
        least += dense.back() - dense[0];
    }
    return least == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(least) - 1;
}

}  // namespace turnpike::cache
