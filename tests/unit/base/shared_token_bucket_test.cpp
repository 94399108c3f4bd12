// SPDX-License-Identifier: BSD-3-Clause
// Threads that draw from one bucket, each by its own clock, get its rate together.
#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "base/token_bucket.hpp"

namespace turnpike {
namespace {

TEST(shared_token_bucket, threads_get_its_rate_together) {
    constexpr uint64_t interval = 10, burst = 32, end = 1'000'000;
    shared_token_bucket bucket({.interval = interval, .depth = interval * (burst - 1)});
    std::array<uint64_t, 3> drawn{};
    std::vector<std::thread> threads;
    for (uint64_t& n : drawn)
        threads.emplace_back([&bucket, &n] {
            for (uint64_t now = 1; now <= end; ++now) n += bucket.allow(now) ? 1 : 0;
        });
    for (std::thread& t : threads) t.join();
    const uint64_t all = drawn[0] + drawn[1] + drawn[2];
    EXPECT_GE(all, end / interval);
    EXPECT_LE(all, end / interval + burst);
}

}  // namespace
}  // namespace turnpike
