// SPDX-License-Identifier: BSD-3-Clause
// With EAL: the C layers beside rte_fib and rte_fib6, call by call and over a whole table; and the
// RCU binding under churn.
#include <gtest/gtest.h>
#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_fib.h>
#include <rte_memory.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "bench/routes.hpp"
#include "fib/fib4.hpp"
#include "fib/fib_dpdk.hpp"
#include "fib/tpk_fib.h"
#include "fib/tpk_fib6.h"
#include "rcu/qsbr.hpp"

namespace turnpike {
namespace {

/// 32-bit values as uint32_t.
class test_random {
  public:
    explicit test_random(uint32_t seed) : engine_(seed) {}
    uint32_t operator()() { return static_cast<uint32_t>(engine_()); }

  private:
    std::mt19937 engine_;
};

/// An enum value outside of its range, as a C caller can pass it.
template <class Enum>
Enum from_int(int value) {
    Enum out;
    std::memcpy(&out, &value, sizeof out);
    return out;
}

tpk_fib_conf conf4(int max_routes = 1 << 16) {
    tpk_fib_conf conf{};
    conf.type = TPK_FIB_DIR24_8;
    conf.max_routes = max_routes;
    conf.dir24_8 = {TPK_FIB_DIR24_8_4B, 1 << 15};
    return conf;
}

TEST(tpk_fib, create_refuses_what_rte_fib_refuses) {
    tpk_fib_conf conf = conf4();
    EXPECT_EQ(tpk_fib_create(nullptr, SOCKET_ID_ANY, &conf), nullptr);
    EXPECT_EQ(rte_errno, EINVAL);
    EXPECT_EQ(tpk_fib_create("x", SOCKET_ID_ANY, nullptr), nullptr);
    EXPECT_EQ(tpk_fib_create("x", -2, &conf), nullptr);
    conf = conf4(0);
    EXPECT_EQ(tpk_fib_create("x", SOCKET_ID_ANY, &conf), nullptr);
    conf = conf4();
    conf.type = from_int<tpk_fib_type>(TPK_FIB_DIR24_8 + 1);
    EXPECT_EQ(tpk_fib_create("x", SOCKET_ID_ANY, &conf), nullptr);
    conf = conf4();
    conf.dir24_8.nh_sz = from_int<tpk_fib_dir24_8_nh_sz>(TPK_FIB_DIR24_8_8B + 1);
    EXPECT_EQ(tpk_fib_create("x", SOCKET_ID_ANY, &conf), nullptr);
    conf = conf4();
    conf.dir24_8.num_tbl8 = 0;
    EXPECT_EQ(tpk_fib_create("x", SOCKET_ID_ANY, &conf), nullptr);
}

TEST(tpk_fib, names) {
    tpk_fib_conf conf = conf4();
    tpk_fib* fib = tpk_fib_create("name", SOCKET_ID_ANY, &conf);
    ASSERT_NE(fib, nullptr);
    EXPECT_EQ(tpk_fib_find_existing("name"), fib);
    EXPECT_EQ(tpk_fib_create("name", SOCKET_ID_ANY, &conf), nullptr);
    EXPECT_EQ(rte_errno, EEXIST);
    tpk_fib_free(fib);
    EXPECT_EQ(tpk_fib_find_existing("name"), nullptr);
    EXPECT_EQ(rte_errno, ENOENT);
    tpk_fib_free(nullptr);
}

TEST(tpk_fib, null_and_out_of_range) {
    tpk_fib_conf conf = conf4();
    tpk_fib* fib = tpk_fib_create("args", SOCKET_ID_ANY, &conf);
    uint32_t ip = 0;
    uint64_t nexthop = 0;
    EXPECT_EQ(tpk_fib_add(nullptr, 0, 24, 1), -EINVAL);
    EXPECT_EQ(tpk_fib_delete(nullptr, 0, 24), -EINVAL);
    EXPECT_EQ(tpk_fib_add(fib, 0, 33, 1), -EINVAL);
    EXPECT_EQ(tpk_fib_add(fib, 0, 24, uint64_t{1} << 31), -EINVAL);
    EXPECT_EQ(tpk_fib_delete(fib, 0, 33), -EINVAL);
    EXPECT_EQ(tpk_fib_delete(fib, 0, 24), -ENOENT);
    EXPECT_EQ(tpk_fib_lookup_bulk(nullptr, &ip, &nexthop, 1), -EINVAL);
    EXPECT_EQ(tpk_fib_lookup_bulk(fib, nullptr, &nexthop, 1), -EINVAL);
    EXPECT_EQ(tpk_fib_lookup_bulk(fib, &ip, nullptr, 1), -EINVAL);
    EXPECT_EQ(tpk_fib_get_dp(nullptr), nullptr);
    EXPECT_NE(tpk_fib_get_dp(fib), nullptr);
    EXPECT_EQ(tpk_fib_get_rib(nullptr), nullptr);
    tpk_fib_free(fib);
}

// As DPDK's test_lookup: every depth of one address, widest first, then away again.
TEST(tpk_fib, every_depth_of_one_address) {
    for (const auto width :
         {TPK_FIB_DIR24_8_1B, TPK_FIB_DIR24_8_2B, TPK_FIB_DIR24_8_4B, TPK_FIB_DIR24_8_8B}) {
        tpk_fib_conf conf = conf4();
        conf.dir24_8.nh_sz = width;
        conf.default_nh = 100;
        tpk_fib* fib = tpk_fib_create("depths", SOCKET_ID_ANY, &conf);
        ASSERT_NE(fib, nullptr);
        for (const auto type :
             {TPK_FIB_LOOKUP_DEFAULT, TPK_FIB_LOOKUP_DIR24_8_SCALAR_MACRO,
              TPK_FIB_LOOKUP_DIR24_8_SCALAR_INLINE, TPK_FIB_LOOKUP_DIR24_8_SCALAR_UNI}) {
            ASSERT_EQ(tpk_fib_select_lookup(fib, type), 0);
            uint32_t ip = 0xc0a8'01ff;
            uint64_t nexthop = 0;
            for (uint8_t depth = 0; depth <= 32; ++depth) {
                ASSERT_EQ(tpk_fib_add(fib, ip, depth, depth), 0);
                ASSERT_EQ(tpk_fib_lookup_bulk(fib, &ip, &nexthop, 1), 0);
                ASSERT_EQ(nexthop, depth);
            }
            for (int depth = 32; depth >= 0; --depth) {
                ASSERT_EQ(tpk_fib_delete(fib, ip, static_cast<uint8_t>(depth)), 0);
                ASSERT_EQ(tpk_fib_lookup_bulk(fib, &ip, &nexthop, 1), 0);
                ASSERT_EQ(nexthop, depth == 0 ? 100U : static_cast<unsigned>(depth - 1));
            }
        }
        tpk_fib_free(fib);
    }
}

TEST(tpk_fib6, every_depth_of_one_address) {
    tpk_fib6_conf conf{};
    conf.type = TPK_FIB6_TRIE;
    conf.max_routes = 1 << 16;
    conf.default_nh = 100;
    conf.trie = {TPK_FIB6_TRIE_4B, 1 << 15};
    EXPECT_EQ(tpk_fib6_create(nullptr, SOCKET_ID_ANY, &conf), nullptr);
    tpk_fib6* fib = tpk_fib6_create("depths6", SOCKET_ID_ANY, &conf);
    ASSERT_NE(fib, nullptr);
    EXPECT_EQ(tpk_fib6_find_existing("depths6"), fib);
    EXPECT_EQ(tpk_fib6_select_lookup(fib, TPK_FIB6_LOOKUP_TRIE_SCALAR), 0);
    uint8_t ip[1][16];
    for (unsigned i = 0; i < 16; ++i) ip[0][i] = static_cast<uint8_t>(17 * i + 5);
    uint64_t nexthop = 0;
    for (unsigned depth = 0; depth <= 128; ++depth) {
        ASSERT_EQ(tpk_fib6_add(fib, ip[0], static_cast<uint8_t>(depth), depth), 0);
        ASSERT_EQ(tpk_fib6_lookup_bulk(fib, ip, &nexthop, 1), 0);
        ASSERT_EQ(nexthop, depth);
    }
    EXPECT_EQ(tpk_fib6_add(fib, ip[0], 129, 1), -EINVAL);
    for (int depth = 128; depth >= 0; --depth) {
        ASSERT_EQ(tpk_fib6_delete(fib, ip[0], static_cast<uint8_t>(depth)), 0);
        ASSERT_EQ(tpk_fib6_lookup_bulk(fib, ip, &nexthop, 1), 0);
        ASSERT_EQ(nexthop, depth == 0 ? 100U : static_cast<unsigned>(depth - 1));
    }
    EXPECT_EQ(tpk_fib6_delete(fib, ip[0], 64), -ENOENT);
    tpk_fib6_free(fib);
}

TEST(fib4, ten_million_lookups_equal_rte_fib) {
    auto table = bench::generate_routes(4, 900'000);
    bench::assign_next_hops(table, 60'000);
    rte_fib_conf conf{};
    conf.type = RTE_FIB_DIR24_8;
    conf.max_routes = 1 << 20;
    conf.dir24_8.nh_sz = RTE_FIB_DIR24_8_4B;
    conf.dir24_8.num_tbl8 = 1 << 16;
    rte_fib* peer = rte_fib_create("peer", SOCKET_ID_ANY, &conf);
    ASSERT_NE(peer, nullptr) << rte_strerror(rte_errno);
    auto ours = *fib::fib4::create(fib::eal_config("ours", SOCKET_ID_ANY));
    std::vector<fib::route4> routes;
    for (const auto& r : table) {
        routes.push_back({static_cast<uint32_t>(r.prefix.high >> 32), r.length, r.next_hop});
        ASSERT_EQ(rte_fib_add(peer, routes.back().address, r.length, r.next_hop), 0);
    }
    ASSERT_TRUE(ours->load(routes));
    test_random random(1);
    std::vector<uint32_t> dst(1000);
    std::vector<uint64_t> a(1000), b(1000);
    for (int round = 0; round < 10'000; ++round) {
        for (auto& d : dst) {
            const auto& r = routes[random() % routes.size()];
            d = random() % 2 ? random() : r.address | (r.length < 32 ? random() >> r.length : 0);
        }
        rte_fib_lookup_bulk(peer, dst.data(), a.data(), 1000);
        ours->lookup_bulk(dst, b);
        ASSERT_EQ(a, b);
    }
    rte_fib_free(peer);
}

/// One quiescent state of a reader, while the writer waits, releases the items deferred before.
TEST(rcu, synchronize_waits_for_what_was_deferred_before) {
    auto domain = *rcu::qsbr::create("once", 1);
    domain->online(0);
    unsigned released = 0;
    domain->hook()({[](void* owner, uint64_t) { ++*static_cast<unsigned*>(owner); }, &released, 0});
    std::atomic<bool> done{false};
    std::thread reader([&] {
        while (!done) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            domain->quiescent(0);
        }
    });
    domain->synchronize();
    EXPECT_EQ(released, 1U);
    EXPECT_EQ(domain->pending(), 0U);
    done = true;
    reader.join();
    domain->offline(0);
}

// One writer flaps routes; readers see each route's next hop old or new, and nothing else, ever.
TEST(fib4, churn_under_rcu) {
    const bool long_run = std::getenv("TURNPIKE_LONG") != nullptr;
    auto domain = *rcu::qsbr::create("churn", 2);
    auto config = fib::eal_config("churn", SOCKET_ID_ANY);
    config.defer_free = domain->hook();
    auto table = *fib::fib4::create(config);
    // Route i has next hop i * 8 + (0 to 7), or is away and 10/8's answers: 1'000'000.
    constexpr uint32_t count = 20'000;
    const auto prefix = [](uint32_t i) { return 0x0a00'0000 + i * 64; };
    ASSERT_TRUE(table->add(0x0a00'0000, 8, 1'000'000));
    for (uint32_t i = 0; i < count; ++i) ASSERT_TRUE(table->add(prefix(i), 26 + i % 3, i * 8));
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> wrong{0}, looked_up{0};
    std::vector<std::thread> readers;
    for (uint32_t id = 0; id < 2; ++id)
        readers.emplace_back([&, id] {
            test_random random(id);
            std::vector<uint32_t> dst(64), index(64);
            std::vector<uint64_t> nexthop(64);
            domain->online(id);
            while (!stop) {
                for (size_t i = 0; i < 64; ++i) dst[i] = prefix(index[i] = random() % count);
                table->lookup_bulk(dst, nexthop);
                for (size_t i = 0; i < 64; ++i)
                    if (nexthop[i] / 8 != index[i] && nexthop[i] != 1'000'000) ++wrong;
                looked_up += 64;
                domain->quiescent(id);
            }
            domain->offline(id);
        });
    test_random random(99);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(long_run ? 60 : 5);
    uint64_t updates = 0;
    while (std::chrono::steady_clock::now() < end) {
        for (int k = 0; k < 100; ++k) {
            const uint32_t i = random() % count;
            const unsigned length = 26 + i % 3;
            if (k % 2 == 0) {
                ASSERT_TRUE(table->remove(prefix(i), length));
            }
            ASSERT_TRUE(table->add(prefix(i), length, i * 8 + random() % 8));
            updates += 2;
        }
        domain->reclaim();
    }
    stop = true;
    for (auto& r : readers) r.join();
    domain->synchronize();
    EXPECT_EQ(wrong, 0U);
    EXPECT_GT(looked_up, 0U);
    EXPECT_EQ(domain->pending(), 0U);
    RecordProperty("updates", std::to_string(updates));
}

}  // namespace
}  // namespace turnpike

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    std::string options[] = {argv[0],
                             "-l",
                             "0",
                             "--no-huge",
                             "--no-shconf",
                             "--no-pci",
                             "--no-telemetry",
                             "-m",
                             "1024",
                             "--log-level=lib.*:error"};
    std::vector<char*> eal;
    for (auto& o : options) eal.push_back(o.data());
    if (rte_eal_init(static_cast<int>(eal.size()), eal.data()) < 0) return 1;
    cpu_set_t everywhere;  // EAL pinned this thread, and the readers would inherit that
    CPU_ZERO(&everywhere);
    for (unsigned cpu = 0; cpu < std::thread::hardware_concurrency(); ++cpu)
        CPU_SET(cpu, &everywhere);
    pthread_setaffinity_np(pthread_self(), sizeof everywhere, &everywhere);
    return RUN_ALL_TESTS();
}
