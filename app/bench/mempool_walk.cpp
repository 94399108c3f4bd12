// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_memzone.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>
#include <stdexcept>

#include "cache/histogram.hpp"
#include "cache/mempool_dpdk.hpp"
#include "mempool_cells.hpp"
#include "pool.hpp"

namespace turnpike::bench {
namespace {

constexpr uint32_t objects = 8192;

constexpr uint64_t huge_page = 2u << 20;

/// A handler's placement of a pool's buffers, for the walk.
struct layout {
    std::vector<uint64_t> offsets;  ///< of the objects, from the start of a huge page
    nlohmann::json sets;
    double overhead;
};

/// Hot lines per set for the lines of `mp`'s objects that a walk touches.
nlohmann::json sets_of(rte_mempool& mp) {
    const auto caches = cache::caches_of_lcore(rte_get_main_lcore());
    nlohmann::json out;
    for (const auto& [level, name] : {std::pair{1u, "l1d"}, std::pair{2u, "l2"}})
        if (const auto* l = caches.find(level)) {
            const auto h = cache::measured(*l, cache::addresses_of(mp), walked);
            out[name] = {
                {"max_over_mean", h.max_over_mean()}, {"mean", h.mean()}, {"even", h.even()}};
        }
    return out;
}

layout layout_by(const char* ops, uint32_t object_bytes, unsigned flags) {
    const pool mp =
        make_pool({.ops = ops, .objects = objects, .object_bytes = object_bytes, .flags = flags});
    if (!mp)
        throw std::runtime_error(
            fmt::format("no memory for {} buffers of {} bytes", objects, object_bytes));
    layout out{cache::addresses_of(*mp), sets_of(*mp), cache::overhead_of(*mp)};
    const uint64_t first = out.offsets[0] / huge_page * huge_page;
    for (uint64_t& offset : out.offsets) offset -= first;
    return out;
}

/// One memory area for all layouts: the choice of physical pages, and conflicts in a core's way
/// predictor, change results by 15 per cent, which would favour one side at random.
class arena {
  public:
    explicit arena(uint64_t bytes)
        : zone_(rte_memzone_reserve_aligned("walk", bytes, static_cast<int>(rte_socket_id()), 0,
                                            huge_page)) {
        if (zone_ == nullptr) throw std::runtime_error("no memory for a walk");
    }
    ~arena() { rte_memzone_free(zone_); }
    arena(const arena&) = delete;
    arena& operator=(const arena&) = delete;

    std::vector<char*> place(const layout& l) const {
        std::vector<char*> out;
        for (const uint64_t offset : l.offsets)
            out.push_back(static_cast<char*>(zone_->addr) + offset);
        return out;
    }

  private:
    const rte_memzone* zone_;
};

/// Like a forwarder: write the mbuf's two lines and the packet's first.
inline void rewrite(char* object) {
    for (const uint32_t line : walked) ++*reinterpret_cast<uint64_t*>(object + line);
}

/// Working sets spread over the pool: a single place in memory would favour one side by random
/// conflicts in a core's way predictor.
double cycles_per_buffer(const std::vector<char*>& order, size_t working_set) {
    constexpr size_t touches = 1u << 16;
    const size_t windows = std::min<size_t>(16, objects / working_set);
    const size_t passes = touches / (windows * working_set);
    uint64_t cycles = 0;
    for (size_t w = 0; w < windows; ++w) {
        const std::span at(&order[w * (objects / windows)], working_set);
        const auto pass = [&] {
            for (char* object : at) rewrite(object);
            asm volatile("" ::: "memory");
        };
        pass();
        uint64_t least = UINT64_MAX;  // the minimum of a few runs excludes interruptions
        for (int tries = 0; tries < 4; ++tries) {
            const uint64_t start = rte_rdtsc_precise();
            for (size_t i = 0; i < passes; ++i) pass();
            least = std::min(least, rte_rdtsc_precise() - start);
        }
        cycles += least;
    }
    return static_cast<double>(cycles) / static_cast<double>(windows * passes * working_set);
}

}  // namespace

void walk_cells(harness& h) {
    for (const uint32_t bytes : {1024u, 2048u, 2368u, 4096u, 8192u}) {
        const layout naive = layout_by("ring_mp_mc", bytes, RTE_MEMPOOL_F_NO_SPREAD);
        const layout dpdk = layout_by("ring_mp_mc", bytes, 0);
        const layout ours = layout_by("cache_aware", bytes, 0);
        const arena memory(
            std::max({naive.offsets.back(), dpdk.offsets.back(), ours.offsets.back()}) + bytes);
        const auto naive_order = memory.place(naive), dpdk_order = memory.place(dpdk),
                   our_order = memory.place(ours);
        for (size_t working_set = 64; working_set <= objects; working_set *= 2) {
            const contender all[] = {
                {"naive", [&] { return cycles_per_buffer(naive_order, working_set); }},
                {"dpdk", [&] { return cycles_per_buffer(dpdk_order, working_set); }},
                {"ours", [&] { return cycles_per_buffer(our_order, working_set); }}};
            const auto cycles = interleave(all, h.repetitions());
            h.print(fmt::format(
                "walk {:5} bytes {:5} buffers: naive {:6.2f}  dpdk {:6.2f}  ours {:6.2f}", bytes,
                working_set, cycles[0], cycles[1], cycles[2]));
            h.add_cell({{"op", "walk"},
                        {"handler", "cache_aware"},
                        {"object_bytes", bytes},
                        {"working_set", working_set},
                        {"bulk", nullptr},
                        {"lcores", 1},
                        {"cache", 0},
                        {"cycles", cycles[2]},
                        {"peer", "ring_mp_mc, DPDK's padding"},
                        {"peer_cycles", cycles[1]},
                        {"naive_cycles", cycles[0]},
                        {"ratio_to_naive", cycles[0] / cycles[2]},
                        {"set_max_over_mean", ours.sets},
                        {"peer_set_max_over_mean", dpdk.sets},
                        {"overhead", ours.overhead}});
        }
    }
}

nlohmann::json worst_set(const nlohmann::json& cells) {
    double worst = 0;
    for (const auto& cell : cells)
        if (cell.contains("set_max_over_mean"))
            for (const auto& level : cell["set_max_over_mean"])
                if (level["mean"].get<double>() >= 16)
                    worst = std::max(worst, level["max_over_mean"].get<double>());
    return worst > 0 ? nlohmann::json(worst) : nlohmann::json(nullptr);
}

nlohmann::json worst_overhead(const nlohmann::json& cells) {
    nlohmann::json worst;
    for (const auto& cell : cells)
        if (cell.contains("overhead") && (worst.is_null() || cell["overhead"] > worst))
            worst = cell["overhead"];
    return worst;
}

}  // namespace turnpike::bench
