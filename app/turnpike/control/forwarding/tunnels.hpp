// SPDX-License-Identifier: BSD-3-Clause
// The tunnels of the snapshot: VTEPs, their prebuilt headers, and the routes to multicast groups. There are few; a
// change rebuilds them all.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "control/forwarding/traffic_by_name.hpp"
#include "control/forwarding/workers.hpp"
#include "control/routing/next_hops.hpp"
#include "control/transaction.hpp"

namespace turnpike::control {

/// Threads  control.
class tunnels : public config_handler {
  public:
    tunnels(workers& w, next_hops& nexthops) : workers_(w), nexthops_(nexthops) {}

    /// Needs ifindex_of, vrf_index_of and snapshot.interfaces; fills snapshot.tunnels and the derived
    /// routes to groups, and adds stage vxlan_fast to interfaces' paths.
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c) override;

    /// Totals of all workers, of inner frames.
    [[nodiscard]] observe::counted_traffic counted(const std::string& name) const noexcept;

  private:
    class prepared_tunnels;

    /// Egress of packets to a group.
    struct path_to_group {
        std::shared_ptr<const nexthop_handle> nexthop{};
        datapath::egress out{};
        uint16_t vlan = 0;
        mac_address mac{};
        uint16_t mtu = 0;
        [[nodiscard]] bool leads_as(const path_to_group& o) const noexcept {
            return out == o.out && mac == o.mac && mtu == o.mtu;
        }
    };
    /// by VRF and group
    using paths_to_groups = std::map<std::pair<uint8_t, ip_address>, path_to_group>;

    [[nodiscard]] observe::traffic sum_of(uint16_t ifindex) const noexcept;

    workers& workers_;
    next_hops& nexthops_;
    paths_to_groups paths_;
    traffic_by_name counted_{};
    std::unique_ptr<const datapath::tunnel_tables> shown_;  ///< published tables
    uint64_t generation_ = 0;
};

}  // namespace turnpike::control
