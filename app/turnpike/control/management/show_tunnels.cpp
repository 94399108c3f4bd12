// SPDX-License-Identifier: BSD-3-Clause
// Tunnels, and their counters by VTEP and by VNI.
#include <map>
#include <nlohmann/json.hpp>

#include "control/management/inventory.hpp"
#include "control/management/show.hpp"
#include "sources/fields.hpp"

namespace turnpike::control {
namespace {

using nlohmann::json;

json counts_json(const observe::traffic& n) {
    return {{"rx_packets", n.rx_packets},
            {"rx_bytes", n.rx_bytes},
            {"tx_packets", n.tx_packets},
            {"tx_bytes", n.tx_bytes}};
}

}  // namespace

json show_tunnels(controller& c, const request_fields&) {
    json list = json::array(), networks = json::array();
    std::map<uint32_t, observe::traffic> by_vni;
    const observe::inventory all = shown_objects(c, add_tunnels);
    for (const observe::tunnel_report& n : all.tunnels) {
        const state::tunnel& t = c.running().tunnels.at(n.name);
        json one = counts_json(n.inner);
        one["name"] = n.name;
        one.update(json::parse(sources::json_of(sources::tunnel_fields(), sources::of_tunnel, t)));
        const std::string& bridge = c.running().interfaces.at(n.name).bridge;
        one["bridge"] = bridge.empty() ? json(nullptr) : json(bridge);
        list.push_back(std::move(one));
        by_vni[t.vni].add(n.inner);
    }
    for (const auto& [vni, n] : by_vni) {
        networks.push_back(counts_json(n));
        networks.back()["vni"] = vni;
    }
    return with_period(c, {{"tunnels", std::move(list)}, {"networks", std::move(networks)}});
}

}  // namespace turnpike::control
