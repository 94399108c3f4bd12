// SPDX-License-Identifier: BSD-3-Clause
// The tunnels of the view: which endpoints there are, and what stands in front of frames to them. They are few, and
// made anew with every change that has any.
#pragma once

#include <memory>
#include <string_view>

#include "control/change.hpp"
#include "control/workers.hpp"

namespace turnpike::control {

/// Threads  control.
class tunnels : public owner {
  public:
    explicit tunnels(workers& w) : workers_(w) {}

    /// Needs interface_place, vrf_place and view.interfaces; gives view.tunnels, and sets interfaces' ends_tunnels.
    [[nodiscard]] result<std::unique_ptr<staged>> prepare(change& c) override;

    /// Of all workers: frames inside.
    struct counts {
        uint64_t rx_packets = 0, rx_bytes = 0, tx_packets = 0, tx_bytes = 0;
    };
    [[nodiscard]] counts counted(uint16_t place) const noexcept;

  private:
    class staged_tunnels;

    workers& workers_;
    std::unique_ptr<const datapath::tunnel_tables> shown_;  ///< what the view names
    uint64_t generation_ = 0;
};

}  // namespace turnpike::control
