// SPDX-License-Identifier: BSD-3-Clause
// The ports: devices, opened and closed while workers run. Whose their queues are: queues.hpp.
//
// A port has a place as long as it is open; workers' counters are by place. When a place is given to
// another port, what was counted there before stays in the books under "(removed)".
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control/change.hpp"
#include "observe/report.hpp"
#include "rxtx/port.hpp"

struct rte_mempool;

namespace turnpike::control {

/// A port that is open.
struct open_port {
    std::string name{};
    state::port wanted{};
    uint16_t place = 0;
    const uint64_t life = observe::new_life();  ///< its counts'
    rxtx::port device;
    datapath::port_state state{};
    observe::port_totals before{};  ///< what its place had counted when it came

    explicit open_port(rxtx::port d) : device(std::move(d)) {}
};

/// Threads  control.
class ports : public owner {
  public:
    /// counted  everything that was counted at a place, by all workers and control
    using count_function = std::function<observe::port_totals(uint16_t place)>;

    ports(rte_mempool* pool, count_function counted) : pool_(pool), counted_(std::move(counted)) {}

    /// Needs workers; gives port_place, view.port, view.queues, hand_over.
    [[nodiscard]] result<std::unique_ptr<staged>> prepare(change& c) override;

    /// Those that are open, in the order of the configuration.
    [[nodiscard]] const std::vector<std::shared_ptr<open_port>>& open() const noexcept {
        return open_;
    }
    /// Closed meanwhile: packets, as far as they are in no other port's totals.
    [[nodiscard]] observe::port_totals removed() const;
    /// Tell devices which addresses their interfaces take: all, or their own and their groups.
    void listen(const datapath::view& v) noexcept;
    /// Close them all; for the end.
    void close() noexcept { open_.clear(); }

  private:
    class staged_ports;

    rte_mempool* pool_;
    count_function counted_;
    std::vector<std::shared_ptr<open_port>> open_;
};

}  // namespace turnpike::control
