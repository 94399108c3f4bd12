// SPDX-License-Identifier: BSD-3-Clause
// The C layer's calls that read the writer's state, beside a writer, also under TSan.
#include <gtest/gtest.h>
#include <rte_memory.h>

#include <atomic>
#include <thread>

#include "hash/tpk_hash.h"
#include "lib/eal.hpp"

namespace turnpike::hash::test {
namespace {

/// Two keys use one position by turns.
TEST(hash_c_layer_churn, counts_and_iterates_beside_a_writer) {
    tpk_hash_parameters p{};
    p.name = "churn";
    p.entries = 8;
    p.key_len = 8;
    p.socket_id = SOCKET_ID_ANY;
    p.extra_flag = TPK_HASH_EXTRA_FLAGS_RW_CONCURRENCY;
    tpk_hash* const h = tpk_hash_create(&p);
    ASSERT_NE(h, nullptr);
    uint64_t key[2] = {1, 2};
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        for (unsigned i = 0; !stop.load(std::memory_order_relaxed); ++i) {
            tpk_hash_del_key(h, &key[i % 2]);
            tpk_hash_add_key_data(h, &key[(i + 1) % 2], &key[(i + 1) % 2]);
        }
    });
    uint32_t wrong = 0;
    for (unsigned i = 0; i < 2'000; ++i) {
        const void* found = nullptr;
        void *data = nullptr, *at = nullptr;
        uint32_t next = 0;
        if (tpk_hash_iterate(h, &found, &data, &next) >= 0)
            wrong += data != &key[0] && data != &key[1];
        wrong += tpk_hash_count(h) > 1;
        wrong += tpk_hash_get_key_with_position(h, 0, &at) == 0 && at == nullptr;
    }
    stop = true;
    writer.join();
    EXPECT_EQ(wrong, 0U);
    tpk_hash_free(h);
}

}  // namespace
}  // namespace turnpike::hash::test
