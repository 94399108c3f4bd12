// SPDX-License-Identifier: BSD-3-Clause
// Work that blocks is executed by another thread: the thread that plans it goes on, adopts the outcome, and leaves the disposal
// to the other thread as well. Nothing else synchronizes the batch (TSan).
#include "control/host_interfaces/upkeep.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace turnpike {
namespace {

/// Notes the threads that execute and destroy it.
struct noted_batch {
    std::vector<std::thread::id>* gone = nullptr;
    unsigned number = 0, result = 0;
    std::thread::id by{};
    noted_batch(std::vector<std::thread::id>* to, unsigned n) : gone(to), number(n) {}
    noted_batch(const noted_batch&) = delete;
    noted_batch& operator=(const noted_batch&) = delete;
    ~noted_batch() { gone->push_back(std::this_thread::get_id()); }
};

class upkeep_thread : public testing::Test {
  protected:
    void start() {
        upkeep_.connect(true);
        other_ = std::thread([this] { upkeep_.serve(); });
    }
    void stop() {
        upkeep_.end();
        other_.join();
        upkeep_.connect(false);
    }
    void plan(unsigned number) { upkeep_.plan(std::make_unique<noted_batch>(&gone_, number)); }
    noted_batch* outcome() {
        while (upkeep_.done() == nullptr) std::this_thread::yield();
        return upkeep_.done();
    }
    void adopt() {
        upkeep_.adopted();
        while (!upkeep_.idle()) std::this_thread::yield();
    }

    std::vector<std::thread::id> gone_{};
    std::atomic<bool> blocks_{false}, begun_{false};
    control::upkeep<noted_batch> upkeep_{[this](noted_batch& b) {
        begun_ = true;
        while (blocks_) std::this_thread::yield();
        b.result = 2 * b.number;
        b.by = std::this_thread::get_id();
    }};
    std::thread other_{};
};

TEST_F(upkeep_thread, blocks_and_the_planner_goes_on) {
    start();
    const auto other = other_.get_id();
    blocks_ = true;
    plan(1);
    while (!begun_) std::this_thread::yield();
    EXPECT_EQ(upkeep_.done(), nullptr);
    EXPECT_FALSE(upkeep_.idle());
    blocks_ = false;
    const noted_batch* const b = outcome();
    EXPECT_EQ(b->result, 2U);
    EXPECT_EQ(b->by, other);
    EXPECT_TRUE(gone_.empty());
    adopt();
    EXPECT_EQ(gone_, std::vector{other});
    stop();
}

TEST_F(upkeep_thread, many_batches_in_a_row) {
    start();
    const auto other = other_.get_id();
    for (unsigned n = 1; n <= 2000; ++n) {
        plan(n);
        ASSERT_EQ(outcome()->result, 2 * n);
        adopt();
    }
    EXPECT_EQ(gone_, std::vector(2000, other));
    stop();
}

TEST_F(upkeep_thread, conclude_waits_for_a_batch_that_is_executed) {
    start();
    blocks_ = true;
    plan(3);
    while (!begun_) std::this_thread::yield();
    std::thread release([this] { blocks_ = false; });
    upkeep_.conclude();
    ASSERT_NE(upkeep_.done(), nullptr) << "it may still be executed";
    EXPECT_EQ(upkeep_.done()->result, 6U);
    release.join();
    adopt();
    upkeep_.conclude();
    EXPECT_TRUE(upkeep_.idle());
    stop();
}

TEST_F(upkeep_thread, conclude_discards_a_batch_that_is_not_begun) {
    upkeep_.connect(true);  // nothing serves
    plan(4);
    upkeep_.conclude();
    EXPECT_TRUE(upkeep_.idle());
    EXPECT_FALSE(begun_);
    EXPECT_EQ(gone_.size(), 1U);
    plan(5);
    upkeep_.connect(false);
    EXPECT_TRUE(upkeep_.idle()) << "nothing would ever execute it";
}

TEST_F(upkeep_thread, none_is_needed) {
    plan(6);
    ASSERT_NE(upkeep_.done(), nullptr);
    EXPECT_EQ(upkeep_.done()->by, std::this_thread::get_id());
    upkeep_.adopted();
    EXPECT_TRUE(upkeep_.idle());
    EXPECT_EQ(gone_.size(), 1U);
    // A thread that has ended executes no batch.
    start();
    stop();
    plan(7);
    EXPECT_EQ(upkeep_.done()->result, 14U);
    upkeep_.adopted();
}

}  // namespace
}  // namespace turnpike
