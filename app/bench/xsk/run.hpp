// SPDX-License-Identifier: BSD-3-Clause
// Runs one contestant between the generator and the sink, and measures it.
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
    const char* mode;  ///< how packets reach it: driver, skb, or the kernel's sockets
    const char* arguments;
};

/// Results of one time window; cycles are TSC cycles of the worker's core.
struct window {
    double mpps = 0;                                          ///< at the sink
    double offered_mpps = 0;                                  ///< at the forwarder's interface
    double kernel_cycles = 0, user_cycles = 0, syscalls = 0;  ///< per packet
    double worker_cpu = 0, generator_cpu = 0;                 ///< shares
};

struct bench_run {
    unsigned generator_cpu, worker_cpu;
    std::string plugin;  ///< net_xsk's, if EAL does not find it itself
    std::unique_ptr<generator> source;
    std::unique_ptr<tracer> calls;  ///< null: cycles and system calls stay 0
    double crossing_ns = 0;         ///< part of a system call outside the tracer's view
    std::chrono::milliseconds window_length, warm_up;

    /// Up to three windows at the generator's full rate, at least a fifth above the forwarded rate.
    ///
    /// Errors  the reason that the forwarder did not forward, or the generator did not generate
    [[nodiscard]] result<std::vector<window>> at_full_rate(const contestant& c, forwarder_app app,
                                                           traffic t) const;
    /// The loss of dpdk-testpmd at `pps`. Its rings have the maximum size, so that preemption of
    /// its core for some milliseconds does not count as loss.
    [[nodiscard]] result<double> loss(const contestant& c, traffic t, double pps,
                                      std::chrono::seconds length) const;

  private:
    [[nodiscard]] result<std::unique_ptr<forwarder>> start(const contestant& c, forwarder_app app,
                                                           unsigned descriptors) const;
    [[nodiscard]] static result<void> wait_for_frames(forwarder& f);
    [[nodiscard]] window measure(const forwarder& f) const;
};

}  // namespace turnpike::bench
