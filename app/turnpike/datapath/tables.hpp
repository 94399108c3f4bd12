// SPDX-License-Identifier: BSD-3-Clause
// What control publishes and workers read.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "config/address.hpp"
#include "datapath/acl_list.hpp"
#include "datapath/burst.hpp"
#include "datapath/neighbour_table.hpp"
#include "datapath/route_table.hpp"
#include "packet/checksum.hpp"
#include "packet/headers.hpp"
#include "rcu/qsbr.hpp"

namespace turnpike::datapath {

struct ipv4_interface {
    uint32_t address, network, broadcast;  ///< host order; a /31 or /32 has no broadcast: 0
};

/// A port; all but link_up and the access lists is fixed before workers run.
struct port_entry {
    uint16_t ethdev_id = 0;
    bool routed = false;
    uint16_t patch_to = 0;  ///< where not routed: the other end
    uint16_t mtu = 0;
    packet::mac_address mac{};
    std::vector<ipv4_interface> v4{};
    std::vector<packet::ipv6_address> v6{};         ///< link-local first
    std::vector<packet::ipv6_address> v6_groups{};  ///< multicast groups that we listen to
    std::atomic<bool> link_up{false};
    /// Null: none is bound. Replaced under RCU; none becomes bound once workers run.
    std::atomic<const bound_acl*> acl_in{nullptr}, acl_out{nullptr};
};

/// Index of `port`: the port's place in the configuration, not its ethdev id.
/// Threads  control writes, workers read.
struct tables {
    std::array<port_entry, max_ports> port;
    uint16_t ports = 0;
    std::vector<ipv4_interface> own_v4{};  ///< of every port
    bool out_lists = false;                ///< any acl_out is bound
    // Null where no port is routed. Gone in this order: routes leave the domain what readers may hold;
    // the domain, which gives back what it keeps of the neighbours; the neighbours.
    std::unique_ptr<neighbour_table> neighbours;
    /// Workers are its readers, by worker_plan::number. Null where nothing is routed or judged.
    std::unique_ptr<rcu::qsbr> rcu;
    std::unique_ptr<route_table> routes;
    packet::ipv4_sum_function* ipv4_sum = nullptr;
};

}  // namespace turnpike::datapath
