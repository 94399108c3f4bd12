// SPDX-License-Identifier: BSD-3-Clause
#include "generator.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <net/if.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "lab.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "generator.skel.h"
#pragma GCC diagnostic pop

namespace turnpike::bench {
namespace {

/// Without FCS, which veth does not carry.
constexpr uint32_t small_bytes = 60, middle_bytes = 590, large_bytes = 1514;
constexpr uint32_t batch = 32;

/// An IPv4 UDP packet for a host that does not exist (198.18.0.0/15: RFC 2544 appendix C.2.2).
std::vector<uint8_t> frame(uint32_t bytes) {
    std::vector<uint8_t> f(bytes);
    const std::array<uint8_t, 42> head{
        0x02, 0, 0,   0,  0x18, 2, 0x02, 0,    0,    0,    0x18, 1,  0x08, 0,  // Ethernet
        0x45, 0, 0,   46, 0,    0, 0,    0,    64,   17,   0,    0,  198,  18,
        0,    1, 198, 19, 0,    1, 0x13, 0x88, 0x13, 0x89, 0,    26, 0,    0};
    std::copy(head.begin(), head.end(), f.begin());
    return f;
}

}  // namespace

struct generator::state {
    generator_skeleton* skeleton = nullptr;
    unsigned cpu = 0;
    std::atomic<bool> running{false}, ended{false};
    std::thread thread{};

    ~state() { generator_skeleton__destroy(skeleton); }

    void work(std::vector<uint8_t> data) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
        bpf_test_run_opts run{};
        run.sz = sizeof run;
        run.data_in = data.data();
        run.data_size_in = static_cast<uint32_t>(data.size());
        run.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
        run.batch_size = batch;
        run.repeat = 1 << 30;  // until a signal arrives
        while (running.load() &&
               bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.generate), &run) == 0) {
        }
        ended = true;
    }
};

generator::generator(std::unique_ptr<state> s) : state_(std::move(s)) {}
generator::~generator() { stop(); }

result<std::unique_ptr<generator>> generator::open(unsigned cpu) {
    struct sigaction ends_a_run {};
    ends_a_run.sa_handler = [](int) {};
    sigaction(SIGUSR1, &ends_a_run, nullptr);
    auto s = std::make_unique<state>();
    s->cpu = cpu;
    s->skeleton = generator_skeleton__open_and_load();
    if (s->skeleton == nullptr)
        return fail(errno, "the generator", "the kernel cannot load its BPF program");
    s->skeleton->bss->to_interface = if_nametoindex(source);
    return std::unique_ptr<generator>(new generator(std::move(s)));
}

void generator::start(traffic t, double pps) {
    stop();
    auto& set = *state_->skeleton->bss;
    set.generated = 0;
    set.batch = batch;
    set.gap_ns = pps > 0 ? static_cast<uint32_t>(batch * 1e9 / pps) : 0;
    set.due_ns = 0;
    set.longest_bytes = t == traffic::small ? small_bytes : large_bytes;
    for (unsigned i = 0; i < 12; ++i)
        set.sizes[i] = t == traffic::small ? small_bytes
                       : i == 6            ? large_bytes
                       : i % 3 == 1        ? middle_bytes
                                           : small_bytes;
    state_->running = true;
    state_->ended = false;
    state_->thread = std::thread(&state::work, state_.get(), frame(set.longest_bytes));
}

uint64_t generator::stop() {
    if (!state_->running) return 0;
    state_->running = false;
    while (!state_->ended) {
        pthread_kill(state_->thread.native_handle(), SIGUSR1);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    state_->thread.join();
    return state_->skeleton->bss->generated;
}

}  // namespace turnpike::bench
