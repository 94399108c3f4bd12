// SPDX-License-Identifier: BSD-3-Clause
#include "rcu/qsbr.hpp"

#include <gtest/gtest.h>

#include "lib/eal.hpp"

namespace turnpike::rcu::test {
namespace {

TEST(qsbr, pending_counts_each_item_once) {
    const auto domain = *qsbr::create("pending", 1);
    const defer_free hook = domain->hook();
    uint32_t released = 0;
    const deferred item{[](void* owner, uint64_t) { ++*static_cast<uint32_t*>(owner); }, &released,
                        0};
    domain->online(0);
    // More than a batch, which has a token, and an open one.
    for (size_t n = 1; n <= 40; ++n) {
        hook(item);
        EXPECT_EQ(domain->pending(), n);
    }
    domain->reclaim();
    EXPECT_EQ(domain->pending(), 40U);
    EXPECT_EQ(released, 0U);
    domain->offline(0);
    domain->reclaim();
    EXPECT_EQ(domain->pending(), 0U);
    EXPECT_EQ(released, 40U);
}

}  // namespace
}  // namespace turnpike::rcu::test
