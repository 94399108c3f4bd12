// SPDX-License-Identifier: BSD-3-Clause
// The ports: devices, opened and closed while workers run. Whose their queues are: queues.hpp.
//
// A port has a place as long as it is open; workers' counters are by place. When a place is given to
// another port, what was counted there before stays in the books under "(removed)". A port that is opened
// anew is another port, at another place.
//
//   opens beside    what runs goes on, and is closed at retire()
//   closes first    the device, or its interface, is still a port's that goes: that one is taken out of
//                   the workers' sight and closed when all else is ready, then this is opened
//   lost            it has no device: that has vanished, or could not be opened again. The port keeps its
//                   place and its books; a change that wants it otherwise, or whoever asks, opens it anew
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
    bool lost = false;              ///< without a device
    bool to_come_back = false;      ///< closed for a change that is not made yet
    /// Of the device, when it was closed.
    struct {
        uint16_t id = 0;  ///< of ethdev
        uint64_t rx_missed = 0;
        std::map<std::string, uint64_t> pcie_counts{};
    } last{};

    explicit open_port(rxtx::port d) : device(std::move(d)) {}
    [[nodiscard]] uint64_t rx_missed() const noexcept {
        return lost ? last.rx_missed : device.rx_missed();
    }
    [[nodiscard]] std::map<std::string, uint64_t> pcie_counts() const {
        return lost ? last.pcie_counts : device.xstats("pcie_");
    }
    /// Close the device, which no worker knows any more. The port is lost.
    void lose() noexcept;
};

/// Of the ports that have no device, and that a change leaves as they are, those that it is to open. One that
/// does not open is an error.
struct lost_ports {
    bool all = false;
    std::vector<std::string> named{};
};

/// Threads  control.
class ports : public owner {
  public:
    /// counted  everything that was counted at a place, by all workers and control
    using count_function = std::function<observe::port_totals(uint16_t place)>;

    ports(rte_mempool* pool, count_function counted) : pool_(pool), counted_(std::move(counted)) {}

    /// Needs workers; gives port_place, view.port, view.queues, hand_over, closes_first and open_rest.
    [[nodiscard]] result<std::unique_ptr<staged>> prepare(change& c) override;

    /// Those that are open, in the order of the configuration.
    [[nodiscard]] const std::vector<std::shared_ptr<open_port>>& open() const noexcept {
        return open_;
    }
    /// Ports without a device that a change is to open: those that it wants otherwise, those that are to come
    /// back, and those that are asked for. They are said to change.
    void add_lost(state::changes& what, const state::desired& after, const lost_ports& open) const;
    /// One was closed for a change that was not made.
    [[nodiscard]] bool any_to_come_back() const noexcept;
    /// Those: none is to come back now. In the order of their devices' numbers.
    [[nodiscard]] std::vector<std::shared_ptr<open_port>> give_up();
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
