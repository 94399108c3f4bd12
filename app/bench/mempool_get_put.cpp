// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>
#include <rte_ring.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>

#include "mempool_cells.hpp"
#include "pool.hpp"

namespace turnpike::bench {
namespace {

constexpr uint32_t in_flight = 512;
constexpr unsigned rounds_of_objects = 1u << 17;  // per repetition

struct handler {
    const char* ops;
    unsigned flags = 0;
};
constexpr unsigned single = RTE_MEMPOOL_F_SP_PUT | RTE_MEMPOOL_F_SC_GET;

/// cache_aware and the peers with the same concurrency guarantee: a handler with weaker guarantees
/// may be faster.
std::vector<handler> handlers(bool single_only) {
    if (single_only) return {{"cache_aware", single}, {"ring_sp_sc", single}};
    return {{"cache_aware"}, {"ring_mp_mc"}, {"stack"}, {"lf_stack"}, {"bucket"}};
}

/// One lcore: a window of buffers in flight; the oldest are returned as new ones are taken.
struct worker {
    rte_mempool* mp;
    unsigned bulk;
    std::atomic<unsigned>* ready;
    unsigned lcores;
    double cycles = 0;  ///< per object, get and put

    void run() {
        std::array<void*, in_flight> window;
        const unsigned slots = in_flight / bulk;
        for (unsigned i = 0; i < slots; ++i) get(&window[i * bulk]);
        unsigned at = 0;
        const auto round = [&] {
            rte_mempool_put_bulk(mp, &window[at], bulk);
            get(&window[at]);
            at = at + bulk == slots * bulk ? 0 : at + bulk;
        };
        for (unsigned i = 0; i < 2 * slots; ++i) round();
        ready->fetch_add(1);
        while (ready->load() < lcores) rte_pause();
        const unsigned rounds = rounds_of_objects / std::max(bulk, 4u);
        const uint64_t start = rte_rdtsc_precise();
        for (unsigned i = 0; i < rounds; ++i) round();
        cycles = static_cast<double>(rte_rdtsc_precise() - start) / rounds / bulk;
        for (unsigned i = 0; i < slots; ++i) rte_mempool_put_bulk(mp, &window[i * bulk], bulk);
    }
    void get(void** into) {
        while (rte_mempool_get_bulk(mp, into, bulk) != 0) rte_pause();
    }
};

int run_worker(void* w) {
    static_cast<worker*>(w)->run();
    return 0;
}

double get_put(rte_mempool* mp, unsigned bulk, unsigned lcores) {
    std::atomic<unsigned> ready = 0;
    worker here{mp, bulk, &ready, lcores}, there = here;
    const unsigned other = rte_get_next_lcore(rte_lcore_id(), 1, 1);
    if (lcores == 2) rte_eal_remote_launch(run_worker, &there, other);
    here.run();
    if (lcores == 2) rte_eal_wait_lcore(other);
    return lcores == 2 ? (here.cycles + there.cycles) / 2 : here.cycles;
}

struct ring_deleter {
    void operator()(rte_ring* r) const noexcept { rte_ring_free(r); }
};

/// The second lcore of a pipeline: puts the buffers that arrive by the ring.
struct putter {
    rte_mempool* mp;
    rte_ring* ring;
    unsigned bulk;
    unsigned rounds;
    static int run(void* p) {
        const auto* self = static_cast<const putter*>(p);
        std::array<void*, 128> objects;
        for (unsigned i = 0; i < self->rounds; ++i) {
            while (rte_ring_sc_dequeue_bulk(self->ring, objects.data(), self->bulk, nullptr) == 0)
                rte_pause();
            rte_mempool_put_bulk(self->mp, objects.data(), self->bulk);
        }
        return 0;
    }
};

double pipeline(rte_mempool* mp, rte_ring* ring, unsigned bulk) {
    putter other{mp, ring, bulk, rounds_of_objects / std::max(bulk, 4u)};
    const unsigned lcore = rte_get_next_lcore(rte_lcore_id(), 1, 1);
    std::array<void*, 128> objects;
    const uint64_t start = rte_rdtsc_precise();
    rte_eal_remote_launch(putter::run, &other, lcore);
    for (unsigned i = 0; i < other.rounds; ++i) {
        while (rte_mempool_get_bulk(mp, objects.data(), bulk) != 0) rte_pause();
        while (rte_ring_sp_enqueue_bulk(ring, objects.data(), bulk, nullptr) == 0) rte_pause();
    }
    rte_eal_wait_lcore(lcore);
    return static_cast<double>(rte_rdtsc_precise() - start) / other.rounds / bulk;
}

/// Compare all handlers of one concurrency guarantee in one cell.
void compare(harness& h, const char* op, bool single_only, uint32_t cache, unsigned lcores,
             const std::function<double(rte_mempool*, unsigned)>& cycles_of) {
    std::vector<handler> kinds = handlers(single_only);
    std::vector<pool> pools;
    for (const handler& k : kinds) {
        pools.push_back(
            make_pool({.ops = k.ops, .object_bytes = 256, .cache = cache, .flags = k.flags}));
        if (!pools.back())
            throw std::runtime_error(fmt::format("cannot create a pool with {}", k.ops));
    }
    for (const unsigned bulk : {1u, 8u, 32u, 128u}) {
        std::vector<contender> all;
        for (size_t i = 0; i < kinds.size(); ++i)
            all.push_back({kinds[i].ops, [&, i] { return cycles_of(pools[i].get(), bulk); }});
        const auto cycles = interleave(all, h.repetitions());
        nlohmann::json peers;
        for (size_t i = 1; i < kinds.size(); ++i) peers[kinds[i].ops] = cycles[i];
        const auto best = std::min_element(cycles.begin() + 1, cycles.end());
        h.print(fmt::format("{} {} bulk {:3} cache {:3} lcores {}: ours {:6.2f}  {}", op,
                            single_only ? "sp/sc" : "mp/mc", bulk, cache, lcores, cycles[0],
                            peers.dump()));
        h.add_cell({{"op", op},
                    {"handler", "cache_aware"},
                    {"concurrency", single_only ? "sp_sc" : "mp_mc"},
                    {"object_bytes", 256},
                    {"bulk", bulk},
                    {"lcores", lcores},
                    {"cache", cache},
                    {"cycles", cycles[0]},
                    {"peer", kinds[static_cast<size_t>(best - cycles.begin())].ops},
                    {"peer_cycles", *best},
                    {"peers", peers}});
    }
}

}  // namespace

void get_put_cells(harness& h) {
    for (const uint32_t cache : {0u, 256u}) {
        compare(h, "get_put", false, cache, 1,
                [](rte_mempool* mp, unsigned b) { return get_put(mp, b, 1); });
        compare(h, "get_put", true, cache, 1,
                [](rte_mempool* mp, unsigned b) { return get_put(mp, b, 1); });
        if (rte_lcore_count() >= 2)
            compare(h, "get_put", false, cache, 2,
                    [](rte_mempool* mp, unsigned b) { return get_put(mp, b, 2); });
        else
            h.print("get_put on 2 lcores: skipped, there is only one");
    }
}

void pipeline_cells(harness& h) {
    if (rte_lcore_count() < 2) return h.print("pipeline: skipped, there is only one lcore");
    const std::unique_ptr<rte_ring, ring_deleter> ring(
        rte_ring_create("pipeline", 1024, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ));
    if (!ring) throw std::runtime_error("no memory for a ring");
    for (const uint32_t cache : {0u, 256u})
        for (const bool single_only : {false, true})
            compare(h, "pipeline", single_only, cache, 2,
                    [&](rte_mempool* mp, unsigned bulk) { return pipeline(mp, ring.get(), bulk); });
}

}  // namespace turnpike::bench
