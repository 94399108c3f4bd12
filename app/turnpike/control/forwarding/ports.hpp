// SPDX-License-Identifier: BSD-3-Clause
// The ports: devices, opened and closed while workers run. Assignment of their queues: queues.hpp.
//
// A port has an index while it is open; workers' counters are by index. When another port gets the
// index, the counts so far move to "(removed)". A reopened port is a new port, at a new index.
//
//   opens beside    the old port keeps running and is closed at retire()
//   closes first    the device, or its interface, belongs to a port that is removed: exchange() removes that
//                   port from the snapshot and closes it after all owners have prepared, then opens the new one
//   lost            a port without a device: the device was unplugged, or could not be reopened. The port keeps
//                   its index and counters; a change of its configuration, or a request, opens it again
#pragma once

#include <rte_cycles.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/control_tx.hpp"
#include "control/transaction.hpp"
#include "observe/report.hpp"
#include "rxtx/device_clock.hpp"
#include "rxtx/port.hpp"

struct rte_mempool;

namespace turnpike::control {

/// An open port.
struct open_port {
    std::string name{};
    state::port config{};
    uint16_t port_index = 0;
    const uint64_t life = observe::new_life();  ///< counter epoch, for rates
    const uint64_t begun = rte_rdtsc();         ///< of its counters
    rxtx::port device;
    datapath::port_state state{};
    observe::port_totals before{};  ///< counts at its index before it was opened
    bool lost = false;              ///< has no device
    bool was_reset = false;     ///< lost since the device was reset: opened again without a request
    bool to_come_back = false;  ///< closed for a change that has not been committed
    /// The MAC filters that the device has; none: unknown.
    struct filters {
        bool promiscuous = false;
        std::vector<mac_address> groups{};
        bool operator==(const filters&) const = default;
    };
    std::optional<filters> filters_set{};
    std::optional<rxtx::device_clock> clock{};  ///< of its RX timestamps; none: not configured
    bool is_shut = false;                       ///< the device was told that its link is down
    /// Device data at the time of closing.
    struct {
        uint16_t id = 0;  ///< ethdev port id
        rxtx::port::rx_losses losses{};
        std::map<std::string, uint64_t> pcie_counts{};
    } last{};

    explicit open_port(rxtx::port d) : device(std::move(d)) {}
    [[nodiscard]] bool link_up() const noexcept { return !config.shutdown && device.link_up(); }
    [[nodiscard]] rxtx::port::rx_losses losses() const noexcept {
        return lost ? last.losses : device.losses();
    }
    [[nodiscard]] std::map<std::string, uint64_t> pcie_counts() const {
        return lost ? last.pcie_counts : device.xstats("pcie_");
    }
    /// Give up the device, which no worker refers to any more. The port becomes lost.
    /// Answers  the device, still open
    rxtx::port lose() noexcept;
};

/// Clocks of RX timestamps by port number; none: the port has no timestamps, or its clock is not known yet.
using clock_lines = std::array<std::optional<rxtx::clock_line>, datapath::max_ports>;

/// Objects that a change tries again although their configuration is unchanged.
struct to_retry {
    bool all = false;  ///< to open all lost ports; one that does not open is an error
    std::vector<std::string> named{};  ///< to open these
    /// Objects of the kernel without room, and what the rollback of a refused change could not restore.
    bool left_out = false;
};

/// Threads  control.
class ports : public config_handler {
  public:
    /// counted  total counts at an index, of all workers and control
    using count_function = std::function<observe::port_totals(uint16_t port_index)>;

    /// out  of packets that are received but not forwarded
    ports(rte_mempool* pool, control_tx& out, count_function counted)
        : pool_(pool), out_(out), counted_(std::move(counted)) {}

    /// Needs workers; fills port_index_of, snapshot.port, snapshot.queues, hand_over, closes_first and
    /// open_rest.
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c) override;

    /// Open ports, in the order of the configuration.
    [[nodiscard]] const std::vector<std::shared_ptr<open_port>>& open() const noexcept {
        return open_;
    }
    /// Mark lost ports as changed, so that the change opens them: ports whose configuration
    /// differs, ports with to_come_back, and requested ones.
    void add_lost(state::changes& what, const state::configuration& after,
                  const to_retry& again) const;
    /// Whether a port is closed for a change that failed.
    [[nodiscard]] bool any_to_come_back() const noexcept;
    /// Clear to_come_back; answers these ports, by ethdev id.
    [[nodiscard]] std::vector<std::shared_ptr<open_port>> release_closed();
    /// Packet counts of closed ports that no open port's totals include.
    [[nodiscard]] observe::port_totals removed() const;
    /// Packets that the devices of removed ports dropped.
    [[nodiscard]] const rxtx::port::rx_losses& removed_losses() const noexcept {
        return removed_losses_;
    }
    /// Set the devices' MAC filters, where they change: promiscuous, or the interfaces' unicast and group addresses.
    /// Some drivers take milliseconds for it, or stop receiving meanwhile.
    void listen(const datapath::snapshot& v) noexcept;
    /// Whether listen() would change no filter.
    [[nodiscard]] bool have_filters(const datapath::snapshot& v) const noexcept;
    /// Drop the packets that wait in the receive rings of ports with `shutdown`, which no worker polls.
    void empty_shut_ports(datapath::drop_reason why) noexcept;
    /// Read the clocks of RX timestamps that have not been read for a while. Call every iteration.
    void read_clocks() noexcept;
    [[nodiscard]] clock_lines known_clocks() const noexcept;
    /// Close all ports, for shutdown.
    void close() noexcept { open_.clear(); }

  private:
    class prepared_ports;
    void empty_receive_rings(const open_port& port, datapath::drop_reason why) noexcept;

    rte_mempool* pool_;
    control_tx& out_;
    count_function counted_;
    std::vector<std::shared_ptr<open_port>> open_;
    rxtx::port::rx_losses removed_losses_{};
};

}  // namespace turnpike::control
