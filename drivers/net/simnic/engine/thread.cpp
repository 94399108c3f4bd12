// SPDX-License-Identifier: BSD-3-Clause
#include "engine/thread.hpp"

#include <sched.h>
#include <signal.h>

#include <string>

namespace turnpike::simnic {
namespace {

constexpr uint32_t rx_frames_a_poll = 64;
constexpr uint32_t polls_between_yields = 256;  // lets other threads use the CPU

}  // namespace

result<void> engine_thread::start(int cpu) {
    stop_.store(false, std::memory_order_relaxed);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(static_cast<unsigned>(cpu), &set);
        pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
    } else {
        // EAL pinned the calling thread; reset the new thread's affinity.
        cpu_set_t all;
        CPU_ZERO(&all);
        for (unsigned i = 0; i < CPU_SETSIZE; ++i) CPU_SET(i, &all);
        pthread_attr_setaffinity_np(&attributes, sizeof all, &all);
    }
    // Signals are for the application's threads.
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    const int code = pthread_create(&thread_, &attributes, run, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (code != 0)
        return fail(
            code, "engine_cpu=" + std::to_string(cpu),
            "cannot start the device's thread on that CPU; engine_cpu takes a CPU that this "
            "process may use");
    running_ = true;
    return {};
}

void engine_thread::stop() noexcept {
    if (!running_) return;
    stop_.store(true, std::memory_order_relaxed);
    pthread_join(thread_, nullptr);
    running_ = false;
}

void* engine_thread::run(void* self) noexcept {
    static_cast<engine_thread*>(self)->loop();
    return nullptr;
}

void engine_thread::loop() noexcept {
    uint32_t polls = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
        if (engine_.wanted() || ++polls % polls_between_yields == 0) sched_yield();
        engine_.poll(rx_frames_a_poll);
    }
}

}  // namespace turnpike::simnic
