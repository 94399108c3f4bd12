// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_interface.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sources/yaml_routing.hpp"

namespace turnpike::sources {
namespace {

/// A router is master of few VRRP groups; each address in a burst costs a comparison pass.
constexpr size_t max_macs = 16;

std::vector<mac_address> read_macs(const yaml::reader& from) {
    std::vector<mac_address> out;
    for (const yaml::reader& one : from.list("MAC addresses")) {
        const mac_address mac = read_station_mac(one);
        if (std::find(out.begin(), out.end(), mac) != out.end())
            one.refuse("is " + mac.text() + " again");
        out.push_back(mac);
    }
    if (out.size() > max_macs)
        from.refuse(fmt::format("has {} MAC addresses; the maximum is {}", out.size(), max_macs));
    return out;
}

}  // namespace

mac_address read_station_mac(const yaml::reader& from) {
    const mac_address mac = from.taken(parse_mac(from.text()));
    if (mac.is_group() || mac.is_zero())
        from.refuse("should be one station's, not a group's or zero");
    return mac;
}

void read_routing(const yaml::reader& from, state::interface& into) {
    if (from.has("addresses")) into.addresses = read_addresses(from.at("addresses"));
    if (from.has("vrf")) into.vrf = read_vrf_of(from.at("vrf"));
    if (from.has("host_interface")) into.host_interface = from.at("host_interface").truth();
    if (from.has("urpf"))
        into.urpf =
            static_cast<state::reverse_path>(from.at("urpf").word({"off", "loose", "strict"}));
    if (from.has("send_redirects")) into.send_redirects = from.at("send_redirects").truth();
    if (from.has("accept_source_route"))
        into.accept_source_route = from.at("accept_source_route").truth();
    if (from.has("router_alert")) into.router_alert = from.at("router_alert").truth();
    if (from.has("extra_macs")) into.extra_macs = read_macs(from.at("extra_macs"));
}

}  // namespace turnpike::sources
