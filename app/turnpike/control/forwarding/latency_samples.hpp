// SPDX-License-Identifier: BSD-3-Clause
// Latency histograms by pair of ports (datapath/latency.hpp): `latency.sample`, `show latency` and the metrics. They begin
// anew when ports or workers are added or removed, and when sampling is switched on.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "control/transaction.hpp"
#include "datapath/latency.hpp"
#include "observe/inventory.hpp"

namespace turnpike::control {

class controller;
class request_fields;

/// Threads  control.
class latency_samples : public config_handler {
  public:
    /// Needs port_index_of, workers and the snapshot's ports.
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c) override;

    /// Pairs with samples, all workers together.
    [[nodiscard]] std::vector<observe::latency_report> counted() const;

  private:
    class prepared_samples;
    struct session {
        const uint64_t life = observe::new_life();
        std::vector<std::string> ports{};  ///< by number; empty: none
        datapath::latency_samplers samplers{};
        /// The last session, which had other ports or workers, until its samples are final; then its sums.
        std::shared_ptr<session> before{};
        std::vector<observe::latency_report> earlier{};

        /// Samples of this session's pairs of ports, also those from earlier sessions that had both ports.
        [[nodiscard]] std::vector<observe::latency_report> counted() const;
    };
    std::shared_ptr<session> session_{};
};

[[nodiscard]] nlohmann::json show_latency(controller& c, const request_fields& f);

}  // namespace turnpike::control
