// SPDX-License-Identifier: BSD-3-Clause
// DPDK's threads request data from control, which replies between iterations, or has ended: no thread accesses
// another's data, and no request waits for ever. Contents of the replies: tests/system/control_test.py.
#include "control/management/telemetry.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "lib/eal.hpp"
#include "reload_lab.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define TURNPIKE_LEAKS
#endif
#endif

namespace turnpike {
namespace {

using namespace test;
using control::telemetry;

struct data {
    rte_tel_data* const all = rte_tel_data_alloc();
    data() = default;
    ~data() { rte_tel_data_free(all); }
    data(const data&) = delete;
    data& operator=(const data&) = delete;
};

/// DPDK frees containers once it has sent them; this test sends nothing, so it frees them itself.
class freed_by_nobody {
  public:
#ifdef TURNPIKE_LEAKS
    freed_by_nobody() { __lsan_disable(); }
    ~freed_by_nobody() { __lsan_enable(); }
#else
    freed_by_nobody() = default;
    ~freed_by_nobody() = default;
#endif
    freed_by_nobody(const freed_by_nobody&) = delete;
    freed_by_nobody& operator=(const freed_by_nobody&) = delete;
};

int ask(const char* command, const char* thing = nullptr) {
    const data into;
    [[maybe_unused]] const freed_by_nobody inner;
    return telemetry::ask(command, thing, into.all);
}

class telemetry_desk : public testing::Test {
  protected:
    /// Runs `f` on a separate thread, while control makes rounds.
    template <class F>
    void beside_control(const F& f) {
        std::atomic<bool> done{false};
        std::thread asker([&] {
            f();
            done = true;
        });
        while (!done) {
            l_.worker().pause();
            if (answers_ != nullptr) answers_->serve();
            l_.worker().resume();
            l_.egress_port("10.9.0.1");
        }
        asker.join();
    }
    void open(std::chrono::milliseconds patience) {
        answers_.reset();
        answers_ = std::make_unique<telemetry>(l_.controller(), calls_, patience);
    }
    lab l_{router("{to: 10.9.0.0/16, via: 10.0.2.2}")};
    control::control_calls calls_{};
    std::unique_ptr<telemetry> answers_ =
        std::make_unique<telemetry>(l_.controller(), calls_, std::chrono::minutes(1));
};

TEST_F(telemetry_desk, answers_what_there_is) {
    beside_control([] {
        for (const char* command :
             {"/turnpike/ports", "/turnpike/drops", "/turnpike/cost", "/turnpike/pcie"})
            EXPECT_EQ(ask(command), 0) << command;
        EXPECT_EQ(ask("/turnpike/ports", "west"), 0);
        EXPECT_EQ(ask("/turnpike/cost", "1"), 0);
        EXPECT_EQ(ask("/turnpike/ports", "nowhere"), -ENOENT);
        EXPECT_EQ(ask("/turnpike/drops", "nowhere"), -ENOENT);
        EXPECT_EQ(ask("/turnpike/cost", "99"), -ENOENT);
        EXPECT_EQ(ask("/turnpike/nothing"), -ENOENT);
    });
}

TEST_F(telemetry_desk, many_ask_at_once) {
    beside_control([] {
        std::vector<std::thread> askers;
        std::atomic<int> answered{0};
        for (int i = 0; i < 8; ++i)
            askers.emplace_back([&] {
                for (int n = 0; n < 20; ++n) answered += ask("/turnpike/cost") == 0;
            });
        for (std::thread& t : askers) t.join();
        EXPECT_EQ(answered, 8 * 20);
    });
}

TEST_F(telemetry_desk, nobody_waits_for_ever) {
    open(std::chrono::milliseconds(100));
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(ask("/turnpike/ports"), -EAGAIN) << "control is busy";
    EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(100));
    // A request that timed out leaves nothing behind.
    open(std::chrono::hours(1));
    beside_control([] { EXPECT_EQ(ask("/turnpike/ports"), 0); });
}

TEST_F(telemetry_desk, the_end_sends_all_home) {
    open(std::chrono::hours(1));
    std::vector<std::thread> askers;
    std::atomic<int> empty_handed{0};
    for (int i = 0; i < 4; ++i)
        askers.emplace_back([&] { empty_handed += ask("/turnpike/drops") == -EAGAIN; });
    while (telemetry::waiting() < 4) std::this_thread::yield();
    EXPECT_EQ(empty_handed, 0) << "all wait";
    answers_.reset();
    for (std::thread& t : askers) t.join();
    EXPECT_EQ(empty_handed, 4);
    EXPECT_EQ(ask("/turnpike/drops"), -EAGAIN) << "the desk is closed";
    open(std::chrono::hours(1));
    beside_control([] { EXPECT_EQ(ask("/turnpike/drops"), 0); });
}

}  // namespace
}  // namespace turnpike
