// SPDX-License-Identifier: BSD-3-Clause
// The mempool handler as applications see it: where its objects lie, and that nothing stays behind.
// Without hugepages here; tests/peer runs the same with hugepages and I/O addresses of both kinds
// (CACHE_AWARE_TEST_EAL).
#include <gtest/gtest.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <rte_memzone.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include "cache/histogram.hpp"
#include "cache/mempool_dpdk.hpp"
#include "lib/any_cpu.hpp"
#include "lib/sysfs_tree.hpp"

namespace turnpike {
namespace {

class eal_as_asked : public ::testing::Environment {
  public:
    void SetUp() override {
        const char* asked = std::getenv("CACHE_AWARE_TEST_EAL");
        std::istringstream line("test --no-pci --no-telemetry --log-level=4 " + test::any_cpu() +
                                " " + (asked != nullptr ? asked : "--no-huge --no-shconf -m 256"));
        for (std::string word; line >> word;) words_.push_back(word);
        std::vector<char*> argv;
        for (auto& w : words_) argv.push_back(w.data());
        ASSERT_GE(rte_eal_init(static_cast<int>(argv.size()), argv.data()), 0);
    }
    void TearDown() override { rte_eal_cleanup(); }

  private:
    std::vector<std::string> words_;
};
const auto* const environment = ::testing::AddGlobalTestEnvironment(new eal_as_asked);

struct mempool_deleter {
    void operator()(rte_mempool* mp) const { rte_mempool_free(mp); }
};
using pool = std::unique_ptr<rte_mempool, mempool_deleter>;

pool make(unsigned objects, unsigned element, unsigned flags = 0, unsigned cache = 0) {
    pool mp(rte_mempool_create_empty("test", objects, element, cache, 0, SOCKET_ID_ANY, flags));
    if (!mp || rte_mempool_set_ops_byname(mp.get(), "cache_aware", nullptr) != 0) return {};
    if (rte_mempool_populate_default(mp.get()) < 0) return {};
    return mp;
}

size_t heap_in_use() {
    rte_malloc_socket_stats stats{};
    rte_malloc_get_socket_stats(0, &stats);
    return stats.heap_allocsz_bytes;
}

unsigned memzones() {
    unsigned n = 0;
    rte_memzone_walk([](const rte_memzone*, void* count) { ++*static_cast<unsigned*>(count); }, &n);
    return n;
}

/// Each test must release all its memory.
class cache_aware_pools : public ::testing::Test {
  protected:
    void SetUp() override {
        make(16, 64).reset();  // DPDK's own first-time allocations
        heap_ = heap_in_use();
        zones_ = memzones();
    }
    void TearDown() override {
        EXPECT_EQ(heap_in_use(), heap_);
        EXPECT_EQ(memzones(), zones_);
    }

  private:
    size_t heap_ = 0;
    unsigned zones_ = 0;
};

struct place {
    uint64_t at;
    rte_iova_t iova;
};

std::vector<place> places_of(rte_mempool& mp) {
    std::vector<place> out;
    rte_mempool_obj_iter(
        &mp,
        [](rte_mempool*, void* into, void* object, unsigned) {
            static_cast<std::vector<place>*>(into)->push_back(
                {reinterpret_cast<uint64_t>(object), rte_mempool_virt2iova(object)});
        },
        &out);
    std::sort(out.begin(), out.end(), [](const place& a, const place& b) { return a.at < b.at; });
    return out;
}

bool within_a_chunk(rte_mempool& mp, uint64_t from, uint64_t to) {
    rte_mempool_memhdr* chunk;
    STAILQ_FOREACH(chunk, &mp.mem_list, next) {
        const auto start = reinterpret_cast<uint64_t>(chunk->addr);
        if (from >= start && to <= start + chunk->len) return true;
    }
    return false;
}

/// Aligned, in the pool's memory, apart, and contiguous for a device.
void expect_well_placed(rte_mempool& mp) {
    const auto objects = places_of(mp);
    ASSERT_EQ(objects.size(), mp.size);
    const uint64_t align = (mp.flags & RTE_MEMPOOL_F_NO_CACHE_ALIGN) != 0 ? 8 : RTE_MEMPOOL_ALIGN;
    size_t page = 0;
    ASSERT_EQ(rte_mempool_get_page_size(&mp, &page), 0);
    if (rte_eal_iova_mode() == RTE_IOVA_VA && page < (2u << 20)) page = 0;  // no device sees them
    uint64_t free_from = 0;
    for (const place& o : objects) {
        const uint64_t start = o.at - mp.header_size, end = o.at + mp.elt_size;
        ASSERT_EQ(o.at % align, 0u);
        ASSERT_GE(start, free_from);
        ASSERT_TRUE(within_a_chunk(mp, start, end));
        if (page != 0 && end - start <= page) {
            ASSERT_EQ(start / page, (end - 1) / page);
        }
        if ((mp.flags & RTE_MEMPOOL_F_NO_IOVA_CONTIG) != 0) {
            ASSERT_EQ(o.iova, RTE_BAD_IOVA);
        } else {
            ASSERT_EQ(o.iova, rte_mem_virt2iova(reinterpret_cast<void*>(o.at)));
            ASSERT_EQ(o.iova + mp.elt_size - 1,
                      rte_mem_virt2iova(reinterpret_cast<void*>(end - 1)));
        }
        free_from = end;
    }
}

TEST_F(cache_aware_pools, place_elements_of_any_size) {
    for (const unsigned element : {1u, 8u, 63u, 64u, 65u, 100u, 960u, 1984u, 2176u, 2304u, 4000u,
                                   4032u, 4096u, 8128u, 9000u, 16384u, 65536u}) {
        SCOPED_TRACE(element);
        const pool mp = make(500, element);
        ASSERT_TRUE(mp) << rte_strerror(rte_errno);
        expect_well_placed(*mp);
    }
}

TEST_F(cache_aware_pools, honour_flags) {
    for (const unsigned flags :
         {RTE_MEMPOOL_F_NO_SPREAD, RTE_MEMPOOL_F_NO_CACHE_ALIGN, RTE_MEMPOOL_F_NO_IOVA_CONTIG,
          RTE_MEMPOOL_F_SP_PUT | RTE_MEMPOOL_F_SC_GET,
          RTE_MEMPOOL_F_NO_SPREAD | RTE_MEMPOOL_F_NO_CACHE_ALIGN | RTE_MEMPOOL_F_NO_IOVA_CONTIG}) {
        SCOPED_TRACE(flags);
        const pool mp = make(500, 2048 - RTE_MEMPOOL_ALIGN, flags);
        ASSERT_TRUE(mp) << rte_strerror(rte_errno);
        expect_well_placed(*mp);
        if ((flags & RTE_MEMPOOL_F_NO_SPREAD) != 0) {
            const auto there = places_of(*mp);
            const uint64_t step = mp->header_size + mp->elt_size + mp->trailer_size;
            EXPECT_EQ(there[1].at - there[0].at, step);
        }
    }
}

/// Memory that is not EAL's: small pages, in whatever physical order.
TEST_F(cache_aware_pools, live_in_anonymous_memory) {
    pool mp(rte_mempool_create_empty("test", 200, 2176, 0, 0, SOCKET_ID_ANY, 0));
    ASSERT_EQ(rte_mempool_set_ops_byname(mp.get(), "cache_aware", nullptr), 0);
    ASSERT_EQ(rte_mempool_populate_anon(mp.get()), 200) << rte_strerror(rte_errno);
    const auto objects = places_of(*mp);
    for (size_t i = 1; i < objects.size(); ++i) ASSERT_GE(objects[i].at - objects[i - 1].at, 2240u);
    for (const place& o : objects) {
        ASSERT_TRUE(within_a_chunk(*mp, o.at - mp->header_size, o.at + mp->elt_size));
        if (rte_eal_iova_mode() == RTE_IOVA_PA) {
            ASSERT_EQ(o.at / 4096, (o.at + mp->elt_size - 1) / 4096);
        }
    }
}

TEST_F(cache_aware_pools, spread_packet_buffers_over_the_sets) {
    for (const unsigned room : {832u, 1856u, 2176u, 3904u, 8000u}) {
        const pool mp(rte_pktmbuf_pool_create_by_ops(
            "test", 4096, 0, 0, static_cast<uint16_t>(room), SOCKET_ID_ANY, "cache_aware"));
        ASSERT_TRUE(mp) << rte_strerror(rte_errno);
        expect_well_placed(*mp);
        std::vector<uint64_t> objects;
        for (const place& o : places_of(*mp)) objects.push_back(o.at);
        const std::vector<uint32_t> hot{0, 64, 256};
        const auto caches = cache::geometry_or_typical();
        EXPECT_TRUE(cache::measured(*caches.find(1), objects, hot, RTE_MEMPOOL_ALIGN).even())
            << room;
        if (rte_eal_has_hugepages() != 0) {
            EXPECT_TRUE(cache::measured(*caches.find(2), objects, hot, RTE_MEMPOOL_ALIGN).even())
                << room;
        }
        const auto one = static_cast<double>(
            RTE_ALIGN_CEIL(RTE_MEMPOOL_ALIGN + sizeof(rte_mbuf) + room, size_t{RTE_MEMPOOL_ALIGN}));
        EXPECT_LE(static_cast<double>(objects.back() - objects.front()),
                  4095 * one * 1.04 + 2 * one);
    }
}

/// Over buffers side by side, whatever the pages: -39 % was once said of small ones, which our buffers
/// may cross.
TEST_F(cache_aware_pools, have_an_overhead_of_at_most_4_percent) {
    for (const unsigned room : {832u, 2176u, 2304u}) {
        const pool mp(rte_pktmbuf_pool_create_by_ops(
            "test", 4096, 0, 0, static_cast<uint16_t>(room), SOCKET_ID_ANY, "cache_aware"));
        ASSERT_TRUE(mp) << rte_strerror(rte_errno);
        EXPECT_GE(cache::overhead_of(*mp), 0) << room;
        EXPECT_LE(cache::overhead_of(*mp), cache::max_overhead + 0.001) << room;
    }
}

/// Several memzones, where no free one is large enough: the gap between them is no padding.
TEST_F(cache_aware_pools, of_separate_memory_have_no_overhead_of_the_gap) {
    constexpr size_t chunk = size_t{1} << 20, gap = 16 * chunk;
    void* const memory = mmap(nullptr, gap + chunk, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    {
        const pool mp(rte_mempool_create_empty("chunks", 600, 2048, 0, 0, SOCKET_ID_ANY,
                                               RTE_MEMPOOL_F_NO_IOVA_CONTIG));
        ASSERT_TRUE(mp);
        ASSERT_EQ(rte_mempool_set_ops_byname(mp.get(), "cache_aware", nullptr), 0);
        for (const size_t at : {size_t{0}, gap})
            ASSERT_GT(rte_mempool_populate_iova(mp.get(), static_cast<char*>(memory) + at,
                                                RTE_BAD_IOVA, chunk, nullptr, nullptr),
                      0);
        const auto objects = cache::addresses_of(*mp);
        EXPECT_GT(objects.back() - objects.front(), gap / 2);
        EXPECT_GE(cache::overhead_of(*mp), -0.001);
        EXPECT_LE(cache::overhead_of(*mp), cache::max_overhead + 0.001);
        EXPECT_GE(cache::distance_of(*mp), 2048);
        EXPECT_LE(cache::distance_of(*mp), 2304);
    }
    munmap(memory, gap + chunk);
}

/// Each CPU has other caches here, and an lcore's number is not its CPU's.
TEST(lcore, has_the_caches_of_its_cpu) {
    const rte_cpuset_t usual = rte_lcore_cpuset(rte_lcore_id());
    test::sysfs_tree tree("/dev/null");
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &usual)) continue;
        const std::string folder =
            "devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index0/";
        tree.put(folder + "level: 1");
        tree.put(folder + "type: Data");
        tree.put(folder + "coherency_line_size: 64");
        tree.put(folder + "ways_of_associativity: 8");
        tree.put(folder + "number_of_sets: " + std::to_string(1000 + cpu));
    }
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &usual)) continue;
        rte_cpuset_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        ASSERT_EQ(rte_thread_set_affinity(&one), 0);
        const auto caches = cache::caches_of_lcore(rte_lcore_id(), tree.root());
        ASSERT_NE(caches.find(1), nullptr) << caches.source;
        EXPECT_EQ(caches.find(1)->sets, 1000 + cpu);
    }
    rte_cpuset_t all = usual;
    ASSERT_EQ(rte_thread_set_affinity(&all), 0);
}

TEST_F(cache_aware_pools, give_all_and_recover) {
    for (const unsigned cache : {0u, 256u}) {
        const pool mp = make(3000, 256, 0, cache);
        ASSERT_TRUE(mp);
        for (int round = 0; round < 3; ++round) {
            std::vector<void*> all;
            for (void* o = nullptr; rte_mempool_get(mp.get(), &o) == 0;) all.push_back(o);
            EXPECT_EQ(all.size(), 3000u);
            EXPECT_EQ(rte_mempool_avail_count(mp.get()), 0u);
            std::sort(all.begin(), all.end());
            EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
            rte_mempool_put_bulk(mp.get(), all.data(), 1000);
            EXPECT_EQ(rte_mempool_avail_count(mp.get()), 1000u);
            rte_mempool_put_bulk(mp.get(), all.data() + 1000, 2000);
            EXPECT_EQ(rte_mempool_avail_count(mp.get()), 3000u);
        }
        rte_mempool_audit(mp.get());
    }
}

/// Threads that EAL knows (with an lcore) and does not know, through DPDK's own calls.
TEST_F(cache_aware_pools, serve_registered_threads_and_others) {
    const pool mp = make(1000, 256);
    ASSERT_TRUE(mp);
    std::vector<std::thread> all;
    std::atomic<unsigned> bad = 0;
    for (int t = 0; t < 4; ++t)
        all.emplace_back([&, t] {
            if (t % 2 == 0 && rte_thread_register() != 0) ++bad;
            std::mt19937 random(static_cast<unsigned>(t));
            std::vector<void*> some(64);
            for (int i = 0; i < 5000; ++i) {
                const unsigned n = 1 + static_cast<unsigned>(random()) % 64;
                if (rte_mempool_get_bulk(mp.get(), some.data(), n) != 0) continue;
                for (unsigned k = 0; k < n; ++k) {  // only its holder writes an object
                    auto* mark = static_cast<std::atomic<int>*>(some[k]);
                    mark->store(t, std::memory_order_relaxed);
                }
                for (unsigned k = 0; k < n; ++k)
                    bad += static_cast<std::atomic<int>*>(some[k])->load(
                               std::memory_order_relaxed) != t;
                rte_mempool_put_bulk(mp.get(), some.data(), n);
            }
            if (t % 2 == 0) rte_thread_unregister();
        });
    for (auto& t : all) t.join();
    EXPECT_EQ(bad, 0u);
    EXPECT_EQ(rte_mempool_avail_count(mp.get()), 1000u);
}

/// The log output while `action` runs, with warnings.
template <class Action>
std::string log_of(const Action& action) {
    const uint32_t usual = rte_log_get_global_level();
    rte_log_set_global_level(RTE_LOG_WARNING);
    char* text = nullptr;
    size_t length = 0;
    FILE* stream = open_memstream(&text, &length);
    rte_openlog_stream(stream);
    action();
    rte_openlog_stream(nullptr);
    rte_log_set_global_level(usual);
    std::fclose(stream);
    std::string out(text, length);
    std::free(text);
    return out;
}

TEST_F(cache_aware_pools, that_do_not_fit_say_so_and_leave_nothing) {
    const std::string log = log_of([] {
        const pool mp(rte_pktmbuf_pool_create_by_ops("toobig", 4000000, 256, 0, 2176, SOCKET_ID_ANY,
                                                     "cache_aware"));
        EXPECT_FALSE(mp);
        // rte_memzone_reserve's. With physical addresses a pool is a memzone a stretch of pages, and which of
        // the two runs out first depends on how the pages lie.
        EXPECT_TRUE(rte_errno == ENOMEM || rte_errno == ENOSPC) << rte_errno;
    });
    EXPECT_NE(log.find("pool 'toobig': freed with "), std::string::npos) << log;
    EXPECT_NE(log.find("reserve more hugepages"), std::string::npos) << log;
    EXPECT_EQ(rte_mempool_lookup("toobig"), nullptr);
}

TEST_F(cache_aware_pools, of_which_a_part_has_memory_do_not_lack_it) {
    std::vector<uint64_t> memory(1u << 17);
    const std::string log = log_of([&] {
        const pool mp(rte_mempool_create_empty("part", 1u << 16, 2048, 0, 0, SOCKET_ID_ANY,
                                               RTE_MEMPOOL_F_NO_IOVA_CONTIG));
        ASSERT_TRUE(mp);
        ASSERT_EQ(rte_mempool_set_ops_byname(mp.get(), "cache_aware", nullptr), 0);
        ASSERT_GT(rte_mempool_populate_iova(mp.get(), reinterpret_cast<char*>(memory.data()),
                                            RTE_BAD_IOVA, memory.size() * 8, nullptr, nullptr),
                  0);
    });
    EXPECT_NE(log.find("pool 'part': freed with "), std::string::npos) << log;
    EXPECT_EQ(log.find("bytes of memory"), std::string::npos) << log;
}

}  // namespace
}  // namespace turnpike
