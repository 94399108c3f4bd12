// SPDX-License-Identifier: BSD-3-Clause
// Packet traces (datapath/trace.hpp): recorded by workers, or of a synthetic frame.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "control/workers.hpp"
#include "datapath/trace.hpp"
#include "rcu/qsbr.hpp"

namespace turnpike::control {

class controller;
class request_fields;

/// Threads  control.
class traces {
  public:
    traces(workers& all, rcu::qsbr& rcu) : workers_(all), rcu_(rcu) {}

    /// Each worker traces the next matching packets; discards earlier traces.
    /// packets  0: stop
    void begin(const datapath::trace_wish& wish);

    struct found {
        unsigned lcore;
        const datapath::packet_trace* trace;
    };
    /// The first `wish.packets` traces of all workers, in order of time. Valid until begin().
    [[nodiscard]] std::vector<found> written() const;
    [[nodiscard]] uint32_t wanted() const noexcept { return wanted_; }

  private:
    workers& workers_;
    rcu::qsbr& rcu_;
    std::vector<std::unique_ptr<datapath::trace_buffer>> buffers_;  ///< by worker
    uint32_t wanted_ = 0;
};

/// Trace a synthetic frame that arrives at a port now. Nothing is sent, counted or learned.
/// Errors  EINVAL: longer than an mbuf; ENOMEM
[[nodiscard]] result<datapath::packet_trace> explain(controller& c, uint16_t port,
                                                     std::span<const uint8_t> frame);

// Request handlers. They throw error.

[[nodiscard]] nlohmann::json start_trace(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_trace(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json explain_request(controller& c, const request_fields& f);

}  // namespace turnpike::control
