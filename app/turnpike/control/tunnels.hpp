// SPDX-License-Identifier: BSD-3-Clause
// The tunnels of the view: which endpoints there are, what stands in front of frames to them, and how groups of them
// are reached. They are few, and made anew with every change that has any.
#pragma once

#include <map>
#include <memory>
#include <string_view>

#include "control/change.hpp"
#include "control/next_hops.hpp"
#include "control/workers.hpp"

namespace turnpike::control {

/// Threads  control.
class tunnels : public owner {
  public:
    tunnels(workers& w, next_hops& hops) : workers_(w), hops_(hops) {}

    /// Needs interface_place, vrf_place and view.interfaces; gives view.tunnels and the derived routes to groups, and
    /// sets interfaces' ends_tunnels.
    [[nodiscard]] result<std::unique_ptr<staged>> prepare(change& c) override;

    /// Of all workers: frames inside.
    struct counts {
        uint64_t rx_packets = 0, rx_bytes = 0, tx_packets = 0, tx_bytes = 0;
    };
    [[nodiscard]] counts counted(uint16_t place) const noexcept;

  private:
    class staged_tunnels;

    /// How packets to a group are sent.
    struct way_to_group {
        uint32_t hop = 0;
        datapath::way_out out{};
        mac_address mac{};
        uint16_t mtu = 0;
        bool operator==(const way_to_group&) const = default;
        [[nodiscard]] bool leads_as(const way_to_group& o) const noexcept {
            return out == o.out && mac == o.mac && mtu == o.mtu;
        }
    };
    using ways_to_groups = std::map<std::pair<uint8_t, ip_address>, way_to_group>;  ///< by VRF

    workers& workers_;
    next_hops& hops_;
    ways_to_groups ways_;
    std::unique_ptr<const datapath::tunnel_tables> shown_;  ///< what the view names
    uint64_t generation_ = 0;
};

}  // namespace turnpike::control
