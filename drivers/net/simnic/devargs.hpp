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

/// text  "key=value,key=value"; empty: all defaults (ixgbe on gen3x8, inline, wire=sink)
///
/// Errors  EINVAL: `object` is the argument, `text` the values it accepts
[[nodiscard]] result<device_arguments> parse_arguments(std::string_view text);

}  // namespace turnpike::simnic
