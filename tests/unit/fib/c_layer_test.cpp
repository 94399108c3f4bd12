// SPDX-License-Identifier: BSD-3-Clause
// The C layers where memory ends: every call with every one of its allocations failing returns its
// usual result or ENOMEM; no exception crosses into C. An addition that was refused then succeeds when memory is free.
#include <gtest/gtest.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include <functional>
#include <vector>

#include "fib/tpk_fib.h"
#include "fib/tpk_fib6.h"
#include "lib/eal.hpp"
#include "lib/failing_new.hpp"

namespace turnpike::fib::test {
namespace {

using turnpike::test::with_allocations;

constexpr char name[] = "a name too long for small strings";
constexpr char another_name[] = "another one, with a long name too";

/// Repeats the call, with its n-th allocation and all later ones failing, until it returns the
/// expected value. A call that needs no memory returns it at once.
void expect_or_enomem(int expected, const std::function<int()>& call) {
    for (int n = 0; n < 10'000; ++n) {
        const int result = with_allocations(n, call);
        if (result == expected) return;
        ASSERT_EQ(result, -ENOMEM) << "allocation " << n;
    }
    FAIL() << "it never says " << expected;
}

TEST(fib_c_layer, ipv4) {
    tpk_fib_conf conf{};
    conf.type = TPK_FIB_DIR24_8;
    conf.default_nh = 1;
    conf.max_routes = 2;
    conf.dir24_8.nh_sz = TPK_FIB_DIR24_8_4B;
    conf.dir24_8.num_tbl8 = 1;
    tpk_fib* fib = nullptr;
    expect_or_enomem(0, [&] {
        fib = tpk_fib_create(name, -1, &conf);
        return fib != nullptr ? 0 : -rte_errno;
    });
    expect_or_enomem(-EEXIST,
                     [&] { return tpk_fib_create(name, -1, &conf) != nullptr ? 0 : -rte_errno; });
    expect_or_enomem(0, [&] { return tpk_fib_add(fib, 0x0a000000, 8, 2); });
    expect_or_enomem(0, [&] { return tpk_fib_add(fib, 0x0a000000, 30, 3); });
    expect_or_enomem(-ENOSPC, [&] { return tpk_fib_add(fib, 0x0b000000, 8, 2); });
    expect_or_enomem(0, [&] { return tpk_fib_delete(fib, 0x0a000000, 30); });
    expect_or_enomem(-ENOENT, [&] { return tpk_fib_delete(fib, 0x0a000000, 30); });
    for (const auto type : {TPK_FIB_LOOKUP_DEFAULT, TPK_FIB_LOOKUP_DIR24_8_SCALAR_MACRO,
                            TPK_FIB_LOOKUP_DIR24_8_VECTOR_AVX512}) {
        const int expected = tpk_fib_select_lookup(fib, type);
        expect_or_enomem(expected, [&] { return tpk_fib_select_lookup(fib, type); });
    }
    EXPECT_EQ(with_allocations(0, [] { return tpk_fib_find_existing(name); }), fib);
    EXPECT_EQ(with_allocations(0, [] { return tpk_fib_find_existing(another_name); }), nullptr);
    uint32_t ip = 0x0a000001;
    uint64_t nexthop = 0;
    EXPECT_EQ(tpk_fib_lookup_bulk(fib, &ip, &nexthop, 1), 0);
    EXPECT_EQ(nexthop, 2u);
    tpk_fib_free(fib);
}

TEST(fib_c_layer, ipv6) {
    tpk_fib6_conf conf{};
    conf.type = TPK_FIB6_TRIE;
    conf.default_nh = 1;
    conf.max_routes = 2;
    conf.trie.nh_sz = TPK_FIB6_TRIE_4B;
    conf.trie.num_tbl8 = 1;
    uint8_t ip[1][16] = {{0x20, 0x01}}, other[16] = {0x20, 0x02};
    tpk_fib6* fib = nullptr;
    expect_or_enomem(0, [&] {
        fib = tpk_fib6_create(name, -1, &conf);
        return fib != nullptr ? 0 : -rte_errno;
    });
    expect_or_enomem(-EEXIST,
                     [&] { return tpk_fib6_create(name, -1, &conf) != nullptr ? 0 : -rte_errno; });
    expect_or_enomem(0, [&] { return tpk_fib6_add(fib, ip[0], 16, 2); });
    expect_or_enomem(0, [&] { return tpk_fib6_add(fib, ip[0], 64, 3); });
    expect_or_enomem(-ENOSPC, [&] { return tpk_fib6_add(fib, other, 16, 2); });
    expect_or_enomem(0, [&] { return tpk_fib6_delete(fib, ip[0], 64); });
    expect_or_enomem(-ENOENT, [&] { return tpk_fib6_delete(fib, ip[0], 64); });
    for (const auto type : {TPK_FIB6_LOOKUP_DEFAULT, TPK_FIB6_LOOKUP_TRIE_SCALAR,
                            TPK_FIB6_LOOKUP_TRIE_VECTOR_AVX512}) {
        const int expected = tpk_fib6_select_lookup(fib, type);
        expect_or_enomem(expected, [&] { return tpk_fib6_select_lookup(fib, type); });
    }
    EXPECT_EQ(with_allocations(0, [] { return tpk_fib6_find_existing(name); }), fib);
    EXPECT_EQ(with_allocations(0, [] { return tpk_fib6_find_existing(another_name); }), nullptr);
    uint64_t nexthop = 0;
    EXPECT_EQ(tpk_fib6_lookup_bulk(fib, ip, &nexthop, 1), 0);
    EXPECT_EQ(nexthop, 2u);
    tpk_fib6_free(fib);
}

/// All of EAL's memory, allocated and freed.
class eal_memory {
  public:
    ~eal_memory() { free_all(); }
    void allocate_all() {
        for (size_t bytes = 64 << 20; bytes >= 1024; bytes /= 2)
            while (void* const block = rte_malloc(nullptr, bytes, 0)) blocks_.push_back(block);
    }
    void free_all() {
        for (void* const block : blocks_) rte_free(block);
        blocks_.clear();
    }

  private:
    std::vector<void*> blocks_;
};

/// As by rte_fib_add: the first call after memory became free finds it.
void adds_when_memory_is_free(const std::function<int(uint32_t route)>& add) {
    eal_memory memory;
    memory.allocate_all();
    uint32_t route = 0;
    while (add(route) == 0) ASSERT_LT(++route, 1U << 20);
    for (int i = 0; i < 20; ++i) ASSERT_EQ(add(route), -ENOMEM);
    memory.free_all();
    EXPECT_EQ(add(route), 0);
}

TEST(fib_c_layer, ipv4_adds_when_memory_is_free) {
    tpk_fib_conf conf{};
    conf.type = TPK_FIB_DIR24_8;
    conf.max_routes = 1 << 20;
    conf.dir24_8.nh_sz = TPK_FIB_DIR24_8_4B;
    conf.dir24_8.num_tbl8 = 1 << 12;
    tpk_fib* const fib = tpk_fib_create(name, -1, &conf);
    ASSERT_NE(fib, nullptr);
    adds_when_memory_is_free(
        [&](uint32_t route) { return tpk_fib_add(fib, route << 12 | 1, 32, route % 1000); });
    tpk_fib_free(fib);
}

TEST(fib_c_layer, ipv6_adds_when_memory_is_free) {
    tpk_fib6_conf conf{};
    conf.type = TPK_FIB6_TRIE;
    conf.max_routes = 1 << 20;
    conf.trie.nh_sz = TPK_FIB6_TRIE_4B;
    conf.trie.num_tbl8 = 1 << 12;
    tpk_fib6* const fib = tpk_fib6_create(name, -1, &conf);
    ASSERT_NE(fib, nullptr);
    adds_when_memory_is_free([&](uint32_t route) {
        const uint8_t ip[16] = {0x20, static_cast<uint8_t>(route >> 16),
                                static_cast<uint8_t>(route >> 8), static_cast<uint8_t>(route), 1};
        return tpk_fib6_add(fib, ip, 48, route % 1000);
    });
    tpk_fib6_free(fib);
}

}  // namespace
}  // namespace turnpike::fib::test
