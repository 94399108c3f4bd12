// SPDX-License-Identifier: BSD-3-Clause
// Log lines about links, ports, neighbours and stations, rate-limited.
#pragma once

#include <string>

#include "control/neighbours/neighbours.hpp"
#include "observe/log.hpp"

namespace turnpike::control {

/// Threads  control. Times in milliseconds of a monotonic clock. Out of memory: the line is lost, and counted.
class events {
  public:
    void link(const std::string& port, bool up, uint64_t now_ms) noexcept;
    /// A port's device was removed without a configuration change.
    /// optional  turnpike opens it again by itself
    static void device_gone(const std::string& port, const std::string& device,
                            bool optional) noexcept;
    /// A device was reset, as a virtual function by its physical function, and is opened again.
    static void device_reset(const std::string& port, const std::string& device) noexcept;
    /// on  name of the interface
    void neighbour(const std::string& on, const neighbour_event& e, uint64_t now_ms) noexcept;
    /// Another host sends ARP messages from an address of ours (RFC 5227 section 2.4), or advertises it.
    void address_conflict(const std::string& on, const ip_address& address, const mac_address& by,
                          uint64_t now_ms) noexcept;
    /// An FDB entry is dampened: it moved between two members of a bridge too often.
    void fdb_entry_held(const std::string& mac, const std::string& held_at,
                        const std::string& other, uint32_t hold_s, uint64_t now_ms) noexcept;
    /// Call often.
    void poll(uint64_t now_ms) noexcept;

  private:
    observe::log_rate_limit links_{"changes of links"}, gateways_{"changes of gateways"},
        neighbours_{"changes of neighbours"}, conflicts_{"ARP and ND messages from our addresses"},
        fdb_entries_{"stations that move too often"};
};

}  // namespace turnpike::control
