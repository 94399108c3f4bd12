// SPDX-License-Identifier: BSD-3-Clause
// Tunnels, and their counters by VTEP and by VNI.
#include <map>
#include <nlohmann/json.hpp>

#include "control/management/inventory.hpp"
#include "control/management/show.hpp"
#include "sources/fields.hpp"

namespace turnpike::control {

using nlohmann::json;

json traffic_json(const std::optional<observe::traffic>& n) {
    using observe::traffic;
    json out = json::object();
    for (const auto& [name, member] : {std::pair("rx_packets", &traffic::rx_packets),
                                       {"rx_bytes", &traffic::rx_bytes},
                                       {"tx_packets", &traffic::tx_packets},
                                       {"tx_bytes", &traffic::tx_bytes}})
        out[name] = n ? json((*n).*member) : json();
    return out;
}

json show_tunnels(controller& c, const request_fields&) {
    json list = json::array(), networks = json::array();
    std::map<uint32_t, observe::traffic> by_vni;
    const observe::inventory all = shown_objects(c, add_tunnels);
    for (const observe::tunnel_report& n : all.tunnels) {
        const state::tunnel& t = c.running().tunnels.at(n.name);
        json one = traffic_json(n.inner);
        one["name"] = n.name;
        one.update(json::parse(sources::json_of(sources::tunnel_fields(), sources::of_tunnel, t)));
        const std::string& bridge = c.running().interfaces.at(n.name).bridge;
        one["bridge"] = bridge.empty() ? json(nullptr) : json(bridge);
        list.push_back(std::move(one));
        by_vni[t.vni].add(n.inner);
    }
    for (const auto& [vni, n] : by_vni) {
        networks.push_back(traffic_json(n));
        networks.back()["vni"] = vni;
    }
    return with_period(c, {{"tunnels", std::move(list)}, {"networks", std::move(networks)}});
}

}  // namespace turnpike::control
