// SPDX-License-Identifier: BSD-3-Clause
#include "tracer.hpp"

#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "tracer.skel.h"
#pragma GCC diagnostic pop

namespace turnpike::bench {

struct tracer::state {
    tracer_skeleton* skeleton = nullptr;
    std::string schedstat{};
    ~state() { tracer_skeleton__destroy(skeleton); }
};

tracer::tracer(std::unique_ptr<state> s) : state_(std::move(s)) {}
tracer::~tracer() = default;

result<std::unique_ptr<tracer>> tracer::open() {
    auto s = std::make_unique<state>();
    s->skeleton = tracer_skeleton__open_and_load();
    if (s->skeleton == nullptr || tracer_skeleton__attach(s->skeleton) != 0)
        return fail(errno, "system calls", "the kernel does not permit BPF on raw tracepoints");
    return std::unique_ptr<tracer>(new tracer(std::move(s)));
}

void tracer::watch(pid_t process, pid_t thread) {
    auto& counts = *state_->skeleton->bss;
    counts.thread = 0;
    counts.calls = counts.kernel_ns = counts.entered_ns = 0;
    counts.thread = static_cast<uint32_t>(thread);
    state_->schedstat = fmt::format("/proc/{}/task/{}/schedstat", process, thread);
}

thread_use tracer::read() const {
    const auto& counts = *state_->skeleton->bss;
    thread_use use{counts.calls, counts.kernel_ns, 0};
    std::ifstream(state_->schedstat) >> use.cpu_ns;  // Documentation/scheduler/sched-stats.rst
    return use;
}

double tracer::crossing_ns() {
    constexpr unsigned calls = 100'000;
    watch(getpid(), gettid());
    const thread_use before = read();
    const auto began = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < calls; ++i) (void)syscall(SYS_getppid);
    const double all =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count();
    const auto seen = static_cast<double>(read().kernel_ns - before.kernel_ns);
    return std::max(0.0, all - seen) / calls;
}

}  // namespace turnpike::bench
