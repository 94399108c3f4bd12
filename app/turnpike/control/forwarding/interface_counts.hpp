// SPDX-License-Identifier: BSD-3-Clause
// Counters of interfaces. An interface that is alone on its port has the counters of the port, and a tunnel has counters; with
// `interface_counters`, the stages count_in and count_out count for routed and cross-connected interfaces that share a
// port, and for routing interfaces of bridges.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "control/forwarding/traffic_by_name.hpp"
#include "control/transaction.hpp"
#include "datapath/interface_counters.hpp"

namespace turnpike::control {

/// Ports all of whose frames belong to one interface, the untagged one.
[[nodiscard]] std::set<std::string_view> ports_of_one_interface(const state::configuration& in);

/// The counters of stages count_in and count_out. They last as long as the interface and its index do.
/// Threads  control.
class interface_counts : public config_handler {
  public:
    /// Needs ifindex_of, and the paths of all other owners.
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c) override;

    /// Totals of all workers.
    /// None: the stages do not count the interface.
    [[nodiscard]] std::optional<observe::counted_traffic> counted(
        const std::string& name) const noexcept;

  private:
    class prepared_counts;

    [[nodiscard]] observe::traffic sum_of(uint16_t ifindex) const noexcept;

    traffic_by_name interfaces_{};
    std::unique_ptr<datapath::interface_counters[]> workers_{};  ///< [workers][max_interfaces]
};

}  // namespace turnpike::control
