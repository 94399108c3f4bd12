// SPDX-License-Identifier: BSD-3-Clause
#include "reset_action.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <cstdio>
#include <system_error>

#include "child.hpp"

namespace turnpike::throughput {
namespace {

std::chrono::duration<double> seconds(double s) { return std::chrono::duration<double>(s); }

/// EAL bound the calling thread to the CPU that sends.
void use_every_cpu() {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
    pthread_setaffinity_np(pthread_self(), sizeof all, &all);
}

}  // namespace

reset_action::reset_action(std::string command, double after_s) : command_(std::move(command)) {
    try {
        thread_ = std::thread([this, after_s] { perform(after_s); });
    } catch (const std::system_error& e) {
        failed_ = error{e.code().value(), "reset.command", "there is no thread to run it"};
        done_ = true;
    }
}

reset_action::~reset_action() {
    {
        const std::lock_guard lock(mutex_);
        cancelled_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void reset_action::perform(double after_s) {
    use_every_cpu();
    {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, seconds(after_s), [this] { return cancelled_; })) return;
    }
    if (command_.empty())
        std::fputs("\nturnpike-throughput: reset the device now\n", stderr);
    else
        run_command();
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
}

void reset_action::run_command() {
    constexpr double poll_s = 0.005;
    auto shell = child::start({"/bin/sh", "-c", command_});
    std::unique_lock lock(mutex_);
    if (!shell) {
        failed_ = shell.error();
        return;
    }
    std::optional<int> status;
    while (!(status = shell->ended())) {
        if (changed_.wait_for(lock, seconds(poll_s), [this] { return cancelled_; })) {
            shell->stop(0);
            return;
        }
    }
    if (*status != 0) failed_ = error{EIO, "reset.command", end_text(*status)};
}

result<void> reset_action::finish(double patience_s) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, seconds(patience_s), [this] { return done_; }))
        return fail(ETIMEDOUT, "reset.command",
                    fmt::format("did not end within {:.0f} s", patience_s));
    if (failed_) return tl::unexpected<error>(*failed_);
    return {};
}

}  // namespace turnpike::throughput
