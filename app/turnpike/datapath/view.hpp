// SPDX-License-Identifier: BSD-3-Clause
// The view: all that workers know of ports, interfaces, addresses and lists, in one object that never
// changes. Control publishes another one by one store; workers see it at their next round and say when
// they have left the old one behind (lib/rcu). So a change of many things is one change.
//
//   view ---> port[place] ---> interfaces[place] ---> lists, addresses
//        \--> queues[worker]
//        \--> vrf[place]: fib4, fib6 ---> next_hops[index] ---> (port, interface)
//
// Routes and next hops change too often for that: they are tables that change in place, and are named
// here. A next hop is published before a route names it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "datapath/bridge.hpp"
#include "datapath/interface.hpp"
#include "datapath/next_hop.hpp"
#include "datapath/own_addresses.hpp"
#include "datapath/tunnel.hpp"
#include "fib/fib4.hpp"
#include "fib/fib6.hpp"
#include "packet/checksum.hpp"
#include "packet/flow_hash.hpp"
#include "packet/headers.hpp"
#include "packet/plain_ipv4.hpp"

namespace turnpike::datapath {

inline constexpr uint16_t max_ports = 32;  ///< RTE_MAX_ETHPORTS
inline constexpr uint16_t tunnel_port =
    max_ports;  ///< a place that no device has: tunnels' interfaces'
inline constexpr uint32_t max_route_entries = 1u
                                              << 21;  ///< of each family; a bound, no reservation

/// What of a port changes by itself; it lives as long as the port.
struct port_state {
    std::atomic<bool> link_up{false};
};

struct port_view {
    const port_state* state = nullptr;  ///< null: nobody's place
    uint16_t ethdev_id = 0;
    mac_address mac{};
    uint16_t untagged = 0;              ///< the interface of frames without a tag; 0: none
    const uint16_t* by_vlan = nullptr;  ///< [4096] of frames with one; null: the untagged one's
    uint16_t tag_type =
        packet::ether_type_vlan;  ///< where there is by_vlan: of the tags that are looked at
    bool strips_tags =
        false;  ///< the device is to take tags out: nobody here wants frames as they come
    bool inserts_tags = false;      ///< the device puts tags of type 8100 in
    bool inserts_udp_sums = false;  ///< the device puts UDP checksums in
    bool checks_udp_sums = false;   ///< it says of each frame whether that is right
    bool sends_its_own = false;  ///< its driver is called to send at times, with packets or without
};

struct rx_queue {
    uint16_t port;  ///< place
    uint16_t queue_id;
    bool operator==(const rx_queue&) const = default;
};

/// One worker's queues.
struct worker_queues {
    std::vector<rx_queue> rx{};
    std::array<int32_t, max_ports> tx{};  ///< queue id by port; -1: none
};

/// What routing in a VRF hangs on: its routes, and what is ours in it.
struct vrf_view {
    const fib::fib4* fib4 = nullptr;
    const fib::fib6* fib6 = nullptr;
    own_addresses own{};
};
inline constexpr size_t max_vrfs = 256;  ///< interface::vrf; 0 is the main one

struct view {
    std::array<port_view, max_ports + 1> port{};
    std::array<interface, max_interfaces> interfaces{};
    std::vector<worker_queues> queues{};  ///< by worker
    std::vector<vrf_view> vrf{1};         ///< by place; those between may be nobody's
    uint64_t drain_cycles = 0;            ///< a packet waits at most so long to be sent with others
    uint64_t call_cycles = 0;     ///< from one call of drivers that send their own to the next
    uint32_t sleep_us = 0;        ///< a worker with nothing to do sleeps so long at most; 0: never
    bool out_lists = false;       ///< any acl_out or l2_out is bound
    bool puts_tags = false;       ///< there are interfaces that send frames with tags
    bool bridge_routing = false;  ///< bridges have routing interfaces
    bool groups = false;          ///< some next hops are groups
    const bridge_tables* bridges = nullptr;  ///< null: there are none
    const tunnel_tables* tunnels = nullptr;  ///< null: there are none
    next_hop* hops = nullptr;
    packet::flow_hashing sharing{};  ///< how groups tell flows apart
    packet::ipv4_sum_function* ipv4_sum = nullptr;
    packet::plain_ipv4_function* plain_ipv4 = nullptr;
};

}  // namespace turnpike::datapath
