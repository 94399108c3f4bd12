// SPDX-License-Identifier: BSD-3-Clause
// Calls between two threads: each is executed once, by the other thread, and its result or exception comes back; nothing else
// synchronizes the data that both use (TSan).
#include "control/management/control_calls.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace turnpike {
namespace {

using control::control_calls;

/// Runs `f` on another thread while this one serves its calls.
template <class F>
void beside_control(control_calls& calls, const F& f) {
    std::atomic<bool> done{false};
    calls.connect();
    std::thread caller([&] {
        f();
        done = true;
    });
    while (!done) calls.serve();
    caller.join();
    calls.connect(false);
}

TEST(calls, are_executed_by_the_other_thread) {
    control_calls calls;
    const auto here = std::this_thread::get_id();
    beside_control(calls, [&] {
        EXPECT_NE(std::this_thread::get_id(), here);
        EXPECT_EQ(calls.run([] { return std::this_thread::get_id(); }), here);
    });
}

TEST(calls, in_a_row_share_data_without_a_lock) {
    constexpr int many = 4000;
    control_calls calls;
    int of_control = 0;  // changed by calls, and by control itself
    std::string of_management;
    beside_control(calls, [&] {
        for (int n = 0; n < many; ++n) {
            of_management = std::to_string(n);
            const std::string came = calls.run([&] {
                ++of_control;
                return of_management + "!";
            });
            ASSERT_EQ(came, std::to_string(n) + "!");
        }
    });
    EXPECT_EQ(of_control, many);
}

TEST(calls, results_may_be_large_and_only_movable) {
    control_calls calls;
    beside_control(calls, [&] {
        const auto came = calls.run([] { return std::make_unique<std::string>(100'000, 'x'); });
        EXPECT_EQ(came->size(), 100'000U);
        calls.run([] {});
    });
}

TEST(calls, exceptions_come_back) {
    struct refused {
        int why;
    };
    control_calls calls;
    beside_control(calls, [&] {
        for (int n = 0; n < 100; ++n) {
            EXPECT_THROW(calls.run([]() -> int { throw std::runtime_error("no"); }),
                         std::runtime_error);
            try {
                calls.run([n] { throw refused{n}; });
                ADD_FAILURE();
            } catch (const refused& r) {
                EXPECT_EQ(r.why, n);
            }
        }
        EXPECT_EQ(calls.run([] { return 7; }), 7);
    });
}

TEST(calls, within_a_call_do_not_wait_for_themselves) {
    control_calls calls;
    beside_control(calls,
                   [&] { EXPECT_EQ(calls.run([&] { return calls.run([] { return 3; }); }), 3); });
}

TEST(calls, of_one_thread_are_executed_at_once) {
    control_calls calls;
    EXPECT_EQ(calls.run([] { return 5; }), 5);
    calls.serve();  // nothing waits
}

}  // namespace
}  // namespace turnpike
