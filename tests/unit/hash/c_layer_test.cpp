// SPDX-License-Identifier: BSD-3-Clause
// The C layer beside rte_hash, call by call; and where memory ends: every call with every one of
// its allocations failing returns its usual result or ENOMEM. No exception crosses into C.
#include <gtest/gtest.h>
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_memory.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "hash/tpk_hash.h"
#include "lib/eal.hpp"
#include "lib/failing_new.hpp"
#include "lib/sanitized.hpp"

namespace turnpike::hash::test {
namespace {

using turnpike::test::with_allocations;

constexpr char name[] = "a name too long for small strings";

tpk_hash_parameters parameters(uint32_t entries, uint32_t key_len, uint8_t flags = 0) {
    tpk_hash_parameters p{};
    p.name = name;
    p.entries = entries;
    p.key_len = key_len;
    p.socket_id = SOCKET_ID_ANY;
    p.extra_flag = flags;
    return p;
}

void expect_or_enomem(int expected, const std::function<int()>& call) {
    for (int n = 0; n < 1'000; ++n) {
        const int result = with_allocations(n, call);
        if (result == expected) return;
        ASSERT_EQ(result, -ENOMEM) << "allocation " << n;
    }
    FAIL() << "it never says " << expected;
}

/// Two keys use one position by turns: a reader never gets the data of the other one.
class exact_c_layer_positions : public ::testing::TestWithParam<uint8_t> {};
TEST_P(exact_c_layer_positions, data_is_of_its_key_while_they_are_freed) {
    const auto p =
        parameters(8, 8, static_cast<uint8_t>(TPK_HASH_EXTRA_FLAGS_RW_CONCURRENCY | GetParam()));
    tpk_hash* const h = tpk_hash_create(&p);
    ASSERT_NE(h, nullptr);
    uint64_t key[2] = {1, 2};
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        for (unsigned i = 0; !stop.load(std::memory_order_relaxed); ++i) {
            const int32_t position = tpk_hash_del_key(h, &key[i % 2]);
            if (GetParam() != 0) tpk_hash_free_key_with_position(h, position);
            tpk_hash_add_key_data(h, &key[(i + 1) % 2], &key[(i + 1) % 2]);
        }
    });
    uint32_t found = 0, wrong = 0;
    for (unsigned i = 0; i < 400'000; ++i) {
        void* data = nullptr;
        if (tpk_hash_lookup_data(h, &key[i % 2], &data) >= 0) {
            ++found;
            wrong += data != &key[i % 2];
        }
        const void* keys[] = {&key[0], &key[1]};
        void* both[2] = {};
        uint64_t hits = 0;
        if (tpk_hash_lookup_bulk_data(h, keys, 2, &hits, both) > 0)
            for (unsigned k = 0; k < 2; ++k) wrong += (hits >> k & 1) != 0 && both[k] != &key[k];
    }
    stop = true;
    writer.join();
    EXPECT_GT(found, 0U);
    EXPECT_EQ(wrong, 0U);
    tpk_hash_free(h);
}
INSTANTIATE_TEST_SUITE_P(of_a_deletion_and_by_themselves, exact_c_layer_positions,
                         ::testing::Values(uint8_t{0}, TPK_HASH_EXTRA_FLAGS_NO_FREE_ON_DEL));

TEST(exact_c_layer, where_memory_ends) {
    const auto p = parameters(8, 13, TPK_HASH_EXTRA_FLAGS_NO_FREE_ON_DEL);
    tpk_hash* h = nullptr;
    expect_or_enomem(0, [&] {
        h = tpk_hash_create(&p);
        return h != nullptr ? 0 : -rte_errno;
    });
    expect_or_enomem(-EEXIST, [&] { return tpk_hash_create(&p) != nullptr ? 0 : -rte_errno; });
    char key[13] = {};
    const void* keys[] = {key};
    uint64_t hits;
    void* data = nullptr;
    int32_t position;
    for (key[0] = 0; key[0] < 8; ++key[0])
        expect_or_enomem(key[0], [&] { return tpk_hash_add_key(h, key); });
    expect_or_enomem(-ENOSPC, [&] { return tpk_hash_add_key(h, key); });
    key[0] = 5;
    EXPECT_EQ(with_allocations(0, [&] { return tpk_hash_add_key_data(h, key, key); }), 0);
    EXPECT_EQ(with_allocations(0, [&] { return tpk_hash_lookup_data(h, key, &data); }), 5);
    EXPECT_EQ(data, key);
    EXPECT_EQ(with_allocations(0, [&] { return tpk_hash_lookup_bulk(h, keys, 1, &position); }), 0);
    EXPECT_EQ(position, 5);
    EXPECT_EQ(with_allocations(0, [&] { return tpk_hash_del_key(h, key); }), 5);
    EXPECT_EQ(with_allocations(0, [&] { return tpk_hash_add_key(h, key); }), -ENOSPC);  // kept
    EXPECT_EQ(tpk_hash_count(h), 8);
    EXPECT_EQ(with_allocations(0, [&] { return tpk_hash_free_key_with_position(h, 5); }), 0);
    EXPECT_EQ(tpk_hash_count(h), 7);
    EXPECT_EQ(with_allocations(0, [&] { return tpk_hash_free_key_with_position(h, 5); }), -EINVAL);
    EXPECT_EQ(
        with_allocations(0, [&] { return tpk_hash_lookup_bulk_data(h, keys, 1, &hits, &data); }),
        0);
    EXPECT_EQ(with_allocations(0, [&] { return tpk_hash_add_key(h, key); }), 5);
    with_allocations(0, [&] { return tpk_hash_reset(h), 0; });
    EXPECT_EQ(tpk_hash_count(h), 0);
    // The longest name that is told apart is a character shorter than the limit.
    EXPECT_EQ(with_allocations(0, [] { return tpk_hash_find_existing("another"); }), nullptr);
    EXPECT_EQ(rte_errno, ENOENT);
    EXPECT_EQ(tpk_hash_find_existing(std::string(name).substr(0, TPK_HASH_NAMESIZE - 1).c_str()),
              h);
    tpk_hash_free(h);
}

TEST(exact_c_layer, refuses_what_makes_no_sense) {
    const auto refused = [](const tpk_hash_parameters& p) {
        rte_errno = 0;
        return tpk_hash_create(&p) == nullptr ? rte_errno : 0;
    };
    EXPECT_EQ(refused(parameters(7, 8)), EINVAL);
    EXPECT_EQ(refused(parameters(TPK_HASH_ENTRIES_MAX + 1U, 8)), EINVAL);
    EXPECT_EQ(refused(parameters(8, 0)), EINVAL);
    EXPECT_EQ(refused(parameters(8, 41)), EINVAL);
    EXPECT_EQ(refused(parameters(8, 8, 0x40)), EINVAL);
    const auto p = parameters(8, 8);
    tpk_hash* h = tpk_hash_create(&p);
    ASSERT_NE(h, nullptr);
    uint64_t key = 0, hits = 0;
    const void* keys[65] = {&key};
    int32_t positions[65];
    void* data[65];
    EXPECT_EQ(tpk_hash_add_key(nullptr, &key), -EINVAL);
    EXPECT_EQ(tpk_hash_add_key(h, nullptr), -EINVAL);
    EXPECT_EQ(tpk_hash_del_key(h, nullptr), -EINVAL);
    EXPECT_EQ(tpk_hash_del_key(h, &key), -ENOENT);
    EXPECT_EQ(tpk_hash_lookup(h, nullptr), -EINVAL);
    EXPECT_EQ(tpk_hash_lookup_bulk(h, keys, 0, positions), -EINVAL);
    EXPECT_EQ(tpk_hash_lookup_bulk(h, keys, 65, positions), -EINVAL);
    EXPECT_EQ(tpk_hash_lookup_bulk_data(h, keys, 65, &hits, data), -EINVAL);
    EXPECT_EQ(tpk_hash_get_key_with_position(h, 8, data), -EINVAL);
    EXPECT_EQ(tpk_hash_get_key_with_position(h, 0, data), -ENOENT);
    EXPECT_EQ(tpk_hash_free_key_with_position(h, 0), -EINVAL);
    EXPECT_EQ(tpk_hash_max_key_id(h), 8);
    EXPECT_EQ(tpk_hash_count(nullptr), -EINVAL);
    tpk_hash_free(h);
    tpk_hash_free(nullptr);
}

/// Random calls of both tables, with keys of so many bytes.
void beside_rte_hash(uint32_t key_len) {
    const auto p = parameters(512, key_len);
    tpk_hash* ours = tpk_hash_create(&p);
    ASSERT_NE(ours, nullptr);
    rte_hash_parameters q{};
    q.name = "peer";
    q.entries = p.entries;
    q.key_len = key_len;
    q.socket_id = SOCKET_ID_ANY;
    rte_hash* peer = rte_hash_create(&q);
    ASSERT_NE(peer, nullptr) << rte_strerror(rte_errno);
    EXPECT_EQ(tpk_hash_max_key_id(ours), rte_hash_max_key_id(peer));
    std::mt19937 random(key_len);
    // Bytes beyond key_len must not matter.
    const auto make = [&](uint8_t(&key)[48]) {
        const auto n = static_cast<uint32_t>(random() % 400);
        std::fill(std::begin(key), std::end(key), static_cast<uint8_t>(random()));
        std::fill_n(key, key_len, uint8_t{0});
        key[0] = static_cast<uint8_t>(n);
        key[key_len - 1] = static_cast<uint8_t>(n / 256 + 1);
    };
    uint8_t keys[64][48];
    const void* pointers[64];
    for (unsigned i = 0; i < 64; ++i) pointers[i] = keys[i];
    constexpr unsigned turns = turnpike::test::sanitized ? 400 : 4'000;
    for (unsigned turn = 0; turn < turns; ++turn) {
        make(keys[0]);
        void* const data = reinterpret_cast<void*>(uintptr_t{random()});
        if (random() % 2 == 0) {
            ASSERT_EQ(tpk_hash_add_key_data(ours, keys[0], data), 0);
            ASSERT_EQ(rte_hash_add_key_data(peer, keys[0], data), 0);
        } else {
            const int32_t position = tpk_hash_del_key(ours, keys[0]);
            const int32_t theirs = rte_hash_del_key(peer, keys[0]);
            ASSERT_EQ(position >= 0, theirs >= 0);
            ASSERT_TRUE(position >= 0 || position == theirs);
        }
        ASSERT_EQ(tpk_hash_count(ours), rte_hash_count(peer));
        const auto n = static_cast<uint32_t>(1 + random() % 64);
        for (uint32_t i = 0; i < n; ++i) make(keys[i]);
        uint64_t hits = 0, their_hits = 0;
        void *found[64] = {}, *their_found[64] = {};
        int32_t positions[64];
        ASSERT_EQ(tpk_hash_lookup_bulk_data(ours, pointers, n, &hits, found),
                  rte_hash_lookup_bulk_data(peer, pointers, n, &their_hits, their_found));
        ASSERT_EQ(hits, their_hits);
        ASSERT_EQ(tpk_hash_lookup_bulk(ours, pointers, n, positions), 0);
        for (uint32_t i = 0; i < n; ++i) {
            const bool hit = (hits >> i & 1) != 0;
            ASSERT_TRUE(!hit || found[i] == their_found[i]);
            ASSERT_EQ(positions[i], tpk_hash_lookup(ours, keys[i]));
            ASSERT_EQ(positions[i] >= 0, hit);
            void* key = nullptr;
            if (hit) {
                ASSERT_EQ(tpk_hash_get_key_with_position(ours, positions[i], &key), 0);
                ASSERT_EQ(std::memcmp(key, keys[i], key_len), 0);
            }
        }
    }
    std::map<std::string, void*> all, theirs;
    const void* key;
    void* data;
    for (uint32_t at = 0; tpk_hash_iterate(ours, &key, &data, &at) >= 0;)
        all[{static_cast<const char*>(key), key_len}] = data;
    for (uint32_t at = 0; rte_hash_iterate(peer, &key, &data, &at) >= 0;)
        theirs[{static_cast<const char*>(key), key_len}] = data;
    EXPECT_EQ(all, theirs);
    EXPECT_GT(all.size(), 50U);
    tpk_hash_free(ours);
    rte_hash_free(peer);
}
TEST(exact_c_layer, says_what_rte_hash_says) {
    for (const uint32_t key_len : {2U, 4U, 8U, 13U, 16U, 17U, 37U, 40U}) {
        SCOPED_TRACE(key_len);
        beside_rte_hash(key_len);
    }
}

}  // namespace
}  // namespace turnpike::hash::test
