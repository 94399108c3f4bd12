// SPDX-License-Identifier: BSD-3-Clause
// The snapshot: the published, immutable configuration of the workers (ports, interfaces, addresses,
// ACLs). Control publishes a new snapshot by one store; each worker loads it at the start of its next
// iteration, and lib/rcu tells control when the old one is unused. A transaction of many changes thus
// takes effect at once.
//
//   snapshot ---> port[index] ---> interfaces[index] ---> ACLs, addresses
//        \--> queues[worker]
//        \--> vrf[index]: fib4, fib6 ---> next_hops[index] ---> (port, interface)
//
// Routes and next hops change too often for a new snapshot each time: the snapshot points to tables that
// control updates in place. A next hop is written before a route refers to it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "datapath/bridge.hpp"
#include "datapath/interface.hpp"
#include "datapath/mirror.hpp"
#include "datapath/next_hop.hpp"
#include "datapath/own_addresses.hpp"
#include "datapath/paths.hpp"
#include "datapath/punt_policer.hpp"
#include "datapath/tunnel.hpp"
#include "fib/fib4.hpp"
#include "fib/fib6.hpp"
#include "packet/checksum.hpp"
#include "packet/fast_ipv4.hpp"
#include "packet/fast_ipv6.hpp"
#include "packet/flow_hash.hpp"
#include "packet/headers.hpp"

namespace turnpike::datapath {

struct samplers;
struct interface_counters;
struct latency_samplers;

inline constexpr uint32_t max_route_entries =
    1u << 21;  ///< per address family; an upper bound, not a reservation

/// The mutable state of a port; lives as long as the port.
struct port_state {
    std::atomic<bool> link_up{false};
};

struct port_snapshot {
    const port_state* state = nullptr;  ///< null: unused index
    uint16_t ethdev_id = 0;
    mac_address mac{};
    stage_mask in_front = 0;  ///< stages between rx and iface_input
    uint16_t untagged = 0;    ///< interface of untagged frames; 0: none
    /// [4096] interface by VLAN ID, that of VLAN 0 is `untagged`; null: `untagged` for all
    const uint16_t* by_vlan = nullptr;
    /// where by_vlan is set: TPID that selects a VLAN
    uint16_t tag_type = packet::ether_type_vlan;
    bool takes_tags = false;        ///< some frames are handled by their 802.1Q tags
    bool inserts_udp_sums = false;  ///< UDP checksum offload on TX
    bool checks_udp_sums = false;   ///< UDP checksum offload on RX
    /// the driver must be called periodically, with or without packets
    bool needs_periodic_tx = false;
};

struct rx_queue {
    uint16_t port;  ///< index into snapshot::port
    uint16_t queue_id;
    bool operator==(const rx_queue&) const = default;
};

/// One worker's queues.
struct worker_queues {
    std::vector<rx_queue> rx{};
    std::array<int32_t, max_ports> tx{};  ///< queue id by port; -1: none
};

/// The routing state of a VRF: its FIBs and the router's own addresses.
struct vrf_snapshot {
    const fib::fib4* fib4 = nullptr;
    const fib::fib6* fib6 = nullptr;
    own_addresses own{};
};
inline constexpr size_t max_vrfs = 256;  ///< interface::vrf is the index; 0 is the main table

struct snapshot {
    std::array<port_snapshot, max_ports + 1> port{};
    std::array<interface, max_interfaces> interfaces{};
    std::array<interface_paths, max_interfaces> paths{};  ///< by interface
    stage_mask outputs = 0;                               ///< union of all interfaces' output paths
    std::vector<worker_queues> queues{};                  ///< by worker
    std::vector<vrf_snapshot> vrf{1};  ///< by interface::vrf; elements in between may be unused
    uint64_t drain_cycles = 0;  ///< maximum time that a packet waits in a TX queue for others
    uint64_t call_cycles = 0;   ///< interval for drivers with port_snapshot::needs_periodic_tx
    uint32_t sleep_us = 0;      ///< maximum sleep of an idle worker; 0: busy polling
    bool groups = false;        ///< some next hops are of kind group
    /// Frames of every port's MTU fit one buffer, and some port must not send packets of several: longer frames are dropped.
    bool one_buffer = false;
    /// Some port cannot send shorter frames: they are padded, whatever port they leave by. 0: any frame is sent as it is.
    uint32_t min_tx_bytes = 0;
    const bridge_tables* bridges = nullptr;  ///< null: there are none
    const tunnel_tables* tunnels = nullptr;  ///< null: there are none
    const mirror_tables* mirrors = nullptr;  ///< null: there are none
    latency_samplers* latency = nullptr;     ///< of the workers; null: no latency is measured
    samplers* sampling = nullptr;            ///< of the workers, for sFlow; null: there is none
    /// [workers][max_interfaces], of interfaces with stages count_in and count_out; null: there are none
    interface_counters* interface_counts = nullptr;
    next_hop* nexthops = nullptr;
    punt_rates punt{};               ///< of each interface and worker, by class
    packet::flow_hashing sharing{};  ///< hash parameters for ECMP
    packet::ipv4_sum_function* ipv4_sum = nullptr;
    packet::fast_ipv4_function* fast_ipv4 = nullptr;
    packet::fast_ipv6_function* fast_ipv6 = nullptr;
};

}  // namespace turnpike::datapath
