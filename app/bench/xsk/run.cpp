// SPDX-License-Identifier: BSD-3-Clause
#include "run.hpp"

#include <rte_cycles.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

#include "lab.hpp"

namespace turnpike::bench {

using std::chrono::duration;
using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;

result<std::unique_ptr<forwarder>> bench_run::start(const contestant& c, forwarder_app app,
                                                    unsigned descriptors) const {
    return forwarder::start({.app = app,
                             .driver = c.driver,
                             .arguments = c.arguments,
                             .plugin = std::string(c.driver) == "net_xsk" ? plugin : "",
                             .main_cpu = generator_cpu,
                             .worker_cpu = worker_cpu,
                             .descriptors = descriptors});
}

/// Wait until frames arrive at the sink. Errors  the forwarder ended, or no frame within 20 s
result<void> bench_run::wait_for_frames(forwarder& f) {
    const auto end = clock::now() + std::chrono::seconds(20);
    const uint64_t before = received(sink);
    while (received(sink) < before + 1000) {
        if (!f.alive()) return fail(EINVAL, "the forwarder ended", f.output());
        if (clock::now() > end)
            return fail(EINVAL, "the forwarder", "forwards nothing: " + f.output());
        std::this_thread::sleep_for(milliseconds(20));
    }
    // Operators give the worker its own core. Here it at least gets the highest priority.
    (void)setpriority(PRIO_PROCESS, static_cast<id_t>(f.worker()), -20);
    return {};
}

window bench_run::measure(const forwarder& f) const {
    if (calls) calls->watch(f.process(), f.worker());
    const thread_use use0 = calls ? calls->read() : thread_use{};
    const cpu_ticks worker0 = ticks_of(worker_cpu), generator0 = ticks_of(generator_cpu);
    const uint64_t out0 = received(sink), in0 = received(west);
    const auto began = clock::now();
    std::this_thread::sleep_for(window_length);
    const auto packets = static_cast<double>(received(sink) - out0);
    const auto offered = static_cast<double>(received(west) - in0);
    const double microseconds = duration<double, std::micro>(clock::now() - began).count();
    const thread_use use = calls ? calls->read() : thread_use{};
    window w{.mpps = packets / microseconds,
             .offered_mpps = offered / microseconds,
             .worker_cpu = ticks_of(worker_cpu).busy_since(worker0),
             .generator_cpu = ticks_of(generator_cpu).busy_since(generator0)};
    if (!calls || packets == 0) return w;
    const double cycles_per_ns = static_cast<double>(rte_get_tsc_hz()) / 1e9;
    const auto system_calls = static_cast<double>(use.system_calls - use0.system_calls);
    const double kernel_ns =
        static_cast<double>(use.kernel_ns - use0.kernel_ns) + system_calls * crossing_ns;
    const auto cpu_ns = static_cast<double>(use.cpu_ns - use0.cpu_ns);
    w.kernel_cycles = kernel_ns * cycles_per_ns / packets;
    w.user_cycles = std::max(0.0, cpu_ns - kernel_ns) * cycles_per_ns / packets;
    w.syscalls = system_calls / packets;
    return w;
}

result<std::vector<window>> bench_run::at_full_rate(const contestant& c, forwarder_app app,
                                                    traffic t) const {
    const auto f = start(c, app, 2048);
    if (!f) return tl::unexpected<error>(f.error());
    source->start(t, 0);
    const auto flowing = wait_for_frames(**f);
    std::vector<window> windows;
    if (flowing) std::this_thread::sleep_for(warm_up);
    for (unsigned tries = 0; flowing && windows.size() < 3 && tries < 12; ++tries)
        // Discard windows in which the generator lacked CPU time: they do not measure the
        // forwarder.
        if (const window w = measure(**f); w.offered_mpps > 1.2 * w.mpps) windows.push_back(w);
    source->stop();
    if (!flowing) return tl::unexpected<error>(flowing.error());
    if (windows.empty())
        return fail(EINVAL, "the generator", "sends no more than is forwarded; is its core busy?");
    return windows;
}

result<double> bench_run::loss(const contestant& c, traffic t, double pps,
                               std::chrono::seconds length) const {
    const auto f = start(c, forwarder_app::testpmd_io, 8192);
    if (!f) return tl::unexpected<error>(f.error());
    source->start(t, 10'000);
    const auto flowing = wait_for_frames(**f);
    source->stop();
    if (!flowing) return tl::unexpected<error>(flowing.error());
    std::this_thread::sleep_for(milliseconds(200));
    const uint64_t before = received(sink);
    source->start(t, pps);
    std::this_thread::sleep_for(length);
    const uint64_t sent = source->stop();
    std::this_thread::sleep_for(milliseconds(200));
    const uint64_t lost = sent - std::min(sent, received(sink) - before);
    if (sent == 0) return fail(EINVAL, "the generator", "sends nothing");
    return static_cast<double>(lost) / static_cast<double>(sent);
}

}  // namespace turnpike::bench
