// SPDX-License-Identifier: BSD-3-Clause
// One contestant at work between the generator and the sink, and what is measured of it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "xsk/forwarder.hpp"
#include "xsk/generator.hpp"
#include "xsk/tracer.hpp"

namespace turnpike::bench {

struct contestant {
    const char* driver;
    const char* mode;  ///< how packets come to it: driver, skb, or through the kernel's own sockets
    const char* arguments;
};

/// Of one window of time; cycles are the TSC's, of the worker's core.
struct window {
    double mpps = 0;                                          ///< at the sink
    double offered_mpps = 0;                                  ///< at the forwarder's interface
    double kernel_cycles = 0, user_cycles = 0, syscalls = 0;  ///< a packet
    double worker_cpu = 0, generator_cpu = 0;                 ///< shares
};

struct bench_run {
    unsigned generator_cpu, worker_cpu;
    std::string plugin;  ///< net_xsk's, where EAL does not find it itself
    std::unique_ptr<generator> source;
    std::unique_ptr<tracer> calls;  ///< none: cycles and system calls stay 0
    double crossing_ns = 0;         ///< what the tracer does not see of a system call
    std::chrono::milliseconds window_length, warm_up;

    /// Up to three windows at the generator's full rate, a fifth or more above what is forwarded.
    /// Errors  what kept the forwarder from forwarding, or the generator from generating
    [[nodiscard]] result<std::vector<window>> at_full_rate(const contestant& c, forwarder_app app,
                                                           traffic t) const;
    /// The share that dpdk-testpmd loses of what comes at `pps`. Its rings are the longest, so that a
    /// machine that gives the core to another for some milliseconds is not what is measured.
    [[nodiscard]] result<double> loss(const contestant& c, traffic t, double pps,
                                      std::chrono::seconds length) const;

  private:
    [[nodiscard]] result<std::unique_ptr<forwarder>> start(const contestant& c, forwarder_app app,
                                                           unsigned descriptors) const;
    [[nodiscard]] static result<void> wait_for_frames(forwarder& f);
    [[nodiscard]] window measure(const forwarder& f) const;
};

}  // namespace turnpike::bench
