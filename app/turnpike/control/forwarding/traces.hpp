// SPDX-License-Identifier: BSD-3-Clause
// Packet traces (datapath/trace.hpp): recorded by workers, or of a synthetic frame.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "control/control_tx.hpp"
#include "control/forwarding/workers.hpp"
#include "datapath/explanation.hpp"
#include "rcu/qsbr.hpp"

namespace turnpike::control {

class control_calls;
class controller;
class history;
class request_fields;

/// Threads  control.
class traces {
  public:
    traces(workers& all, control_tx& drops, rcu::qsbr& rcu)
        : workers_(all), control_tx_(drops), rcu_(rcu) {}

    /// Each worker traces the next matching packets, and control its drops; discards earlier traces.
    /// packets  0: stop
    void begin(const datapath::trace_filter& filter);

    struct found {
        unsigned lcore;
        bool control;  ///< a packet that control dropped
        const datapath::packet_trace* trace;
    };
    /// The first `filter.packets` traces of all workers, in order of time. Valid until begin().
    [[nodiscard]] std::vector<found> written() const;
    [[nodiscard]] uint32_t requested() const noexcept { return requested_; }

  private:
    workers& workers_;
    control_tx& control_tx_;
    rcu::qsbr& rcu_;
    std::vector<std::unique_ptr<datapath::trace_buffer>> buffers_;  ///< by worker
    std::unique_ptr<datapath::trace_buffer> drops_;                 ///< of control
    uint32_t requested_ = 0;
};

/// Trace a synthetic frame that arrives at a port now, with the decisions of its stages. Nothing is sent, counted
/// or learned.
/// Errors  EINVAL: longer than an mbuf; ENOMEM
[[nodiscard]] result<std::unique_ptr<datapath::explanation>> explain(
    controller& c, uint16_t port, std::span<const uint8_t> frame);

// Request handlers. They throw error.

[[nodiscard]] nlohmann::json start_trace(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_trace(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json explain_request(controller& c, control_calls& calls,
                                             const history& past, const request_fields& f);

}  // namespace turnpike::control
