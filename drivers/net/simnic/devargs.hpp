// SPDX-License-Identifier: BSD-3-Clause
// Device arguments, for example "net_simnic0,profile=i40e,wire=gen,size=64".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "clock.hpp"
#include "pcie/link.hpp"
#include "policy.hpp"
#include "wire/impaired.hpp"
#include "wire/traffic.hpp"

namespace turnpike::simnic {

enum class wire_kind : uint8_t { sink, gen, peer, tap, pcap, record };

struct device_arguments {
    simnic::policy policy{};
    pcie::link link{};
    double link_gbps = 0;
    bool threaded = false;
    int engine_cpu = -1;
    bool cold = false;  ///< device writes are evicted from the caches
    uint16_t queues = 4;
    wire_kind wire = wire_kind::sink;
    std::string wire_name{};  ///< name of the peer, interface or file
    simnic::traffic traffic{};
    impairments impaired{};
    uint32_t vanish_ms = 0;  ///< after a start; 0: never
    timestamp_clock clock{};
    packet::mac_address mac{};  ///< zero: derived from the port number
};

/// The arguments for `dpdk-pmdinfo`.
#define SIMNIC_PARAMETERS                                                                        \
    "profile=<ixgbe|i40e|ice|e1000|igb|niantic-dpdk> pcie=<gen3x8> mps=<bytes> mrrs=<bytes> "    \
    "engine=<inline|thread> engine_cpu=<n> memory=<warm|cold> link=<0|10|25|40|100> queues=<n> " \
    "mac=<mac> wire=<sink|gen|peer:NAME|tap:NAME|pcap:FILE|record:FILE> size=<64|imix|a-b> "     \
    "l2flows=<n> l2peers=<n> draw=<turn|zipf> vlan=<id> l3flows=<n> ip=<4|6> dst_mac=<mac> "     \
    "src=<ipv4> dst=<ipv4> rate=<pps> loss=<share> duplicate=<share> reorder=<share> "           \
    "corrupt=<share> loss_every=<n> loss_until=<n> outage=<after-n> cap=<pps> buffer=<n> "       \
    "delay=<us> seed=<n> flap=<up-down ms> clock=<hz> clock_step=<ms> vanish=<ms>"

/// text  "key=value,key=value"; empty: all defaults (ixgbe on gen3x8, inline, wire=sink)
///
/// Errors  EINVAL: `object` is the argument, `text` the values it accepts
[[nodiscard]] result<device_arguments> parse_arguments(std::string_view text);

}  // namespace turnpike::simnic
