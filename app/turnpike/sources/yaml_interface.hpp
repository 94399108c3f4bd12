// SPDX-License-Identifier: BSD-3-Clause
// Members of routed interfaces, common to ports, VLANs and bridges. Reports errors by throwing
// yaml::complaint.
#pragma once

#include <array>
#include <string_view>

#include "state/configuration.hpp"
#include "yaml/reader.hpp"

namespace turnpike::sources {

/// Keys other than `addresses` that are valid only on routed interfaces.
inline constexpr std::array<std::string_view, 7> routing_keys{
    "vrf",         "host_interface", "urpf", "extra_macs", "send_redirects", "accept_source_route",
    "router_alert"};

/// Reads addresses and these keys; absent keys leave `into` unchanged.
void read_routing(const yaml::reader& from, state::interface& into);

/// A unicast MAC address.
mac_address read_station_mac(const yaml::reader& from);

}  // namespace turnpike::sources
