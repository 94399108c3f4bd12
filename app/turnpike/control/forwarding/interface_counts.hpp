// SPDX-License-Identifier: BSD-3-Clause
// Counters of interfaces. An interface that is alone on its port has the counters of the port, from that time on, and a tunnel has counters; with
// `interface_counters`, the stages count_in and count_out count for routed and cross-connected interfaces that share a
// port, and for routing interfaces of bridges.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "control/forwarding/traffic_by_name.hpp"
#include "control/transaction.hpp"
#include "datapath/interface_counters.hpp"

namespace turnpike::control {

/// Ports all of whose frames belong to one interface, the untagged one.
[[nodiscard]] std::set<std::string_view> ports_of_one_interface(const state::configuration& in);

/// The counters of ports of one interface, and of stages count_in and count_out. They last as long as the interface and its
/// index, or the port's, do, and the interface has them.
/// Threads  control.
class interface_counts : public config_handler {
  public:
    /// of_port  all traffic of a port index
    explicit interface_counts(std::function<observe::traffic(uint16_t port_index)> of_port)
        : of_port_(std::move(of_port)) {}

    /// Needs ifindex_of, and the paths of all other owners.
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c) override;

    /// Totals of all workers.
    /// None: nothing counts the interface.
    [[nodiscard]] std::optional<observe::counted_traffic> counted(const std::string& name) const;

  private:
    class prepared_counts;

    [[nodiscard]] observe::traffic sum_of(uint16_t ifindex) const noexcept;

    std::function<observe::traffic(uint16_t port_index)> of_port_;
    traffic_by_name alone_{};  ///< on their ports, by port index
    traffic_by_name interfaces_{};
    std::unique_ptr<datapath::interface_counters[]> workers_{};  ///< [workers][max_interfaces]
};

}  // namespace turnpike::control
