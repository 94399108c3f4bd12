// SPDX-License-Identifier: BSD-3-Clause
// The way of packets (datapath/trace.hpp): those that workers write down, and one that somebody asks about.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
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

    /// Each worker writes down the next packets of those that are wanted; what was written before is forgotten.
    /// packets  0: no more
    void begin(const datapath::trace_wish& wish);

    struct found {
        unsigned lcore;
        const datapath::packet_trace* trace;
    };
    /// The first `wish.packets` of all workers', in their order. Until begin().
    [[nodiscard]] std::vector<found> written() const;
    [[nodiscard]] uint32_t wanted() const noexcept { return wanted_; }

  private:
    workers& workers_;
    rcu::qsbr& rcu_;
    std::vector<std::unique_ptr<datapath::trace_book>> books_;  ///< by worker
    uint32_t wanted_ = 0;
};

/// What becomes of a frame that comes in by a port now, and which way it goes. Nothing is sent, counted or learnt.
/// Errors  EINVAL: it does not fit in a packet's buffer; ENOMEM
[[nodiscard]] result<datapath::packet_trace> explain(controller& c, uint16_t port,
                                                     std::span<const uint8_t> frame);

// Requests. They throw error.

[[nodiscard]] nlohmann::json start_trace(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_trace(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json explain_request(controller& c, const request_fields& f);

}  // namespace turnpike::control
