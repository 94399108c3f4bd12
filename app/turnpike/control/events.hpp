// SPDX-License-Identifier: BSD-3-Clause
// What happens on links, said in the log, as often as somebody can read it.
#pragma once

#include <string>

#include "control/neighbours.hpp"
#include "observe/log.hpp"

namespace turnpike::control {

/// Threads  control. Times in milliseconds of a clock that does not go back.
class events {
  public:
    void link(const std::string& port, bool up, uint64_t now_ms);
    /// A port's device went by itself.
    static void device_gone(const std::string& port, const std::string& device);
    /// on  its interface
    void neighbour(const std::string& on, const neighbour_event& e, uint64_t now_ms);
    /// A station moved between two members of a bridge more often than it may.
    void station_held(const std::string& mac, const std::string& held_at, const std::string& other,
                      uint32_t hold_s, uint64_t now_ms);
    /// To be called often.
    void look(uint64_t now_ms) noexcept;

  private:
    observe::log_limit links_{"changes of links"}, neighbours_{"changes of neighbours"},
        stations_{"stations that move too often"};
};

}  // namespace turnpike::control
