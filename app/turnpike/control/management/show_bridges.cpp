// SPDX-License-Identifier: BSD-3-Clause
// Bridges and their FDB entries: up to a million, so by the page.
#include <nlohmann/json.hpp>

#include <algorithm>

#include "control/management/inventory.hpp"
#include "control/management/show.hpp"
#include "sources/fields.hpp"

namespace turnpike::control {
namespace {

using nlohmann::json;

json name_of_vlan(uint16_t vlan) { return vlan == 0 ? json(nullptr) : json(vlan); }

json member_json(const state::bridge_member& m) {
    json out = json::parse(sources::json_of(sources::member_fields(), sources::of_member, m));
    out["port"] = m.port;
    return out;
}

/// Counters by VLAN, without zeros.
json vlans_json(const observe::bridge_report& of) {
    json out = json::array();
    for (const observe::bridge_report::vlan& v : of.vlans)
        if (v.rx_packets != 0 || v.tx_packets != 0)
            out.push_back({{"vlan", name_of_vlan(v.id)},
                           {"rx_packets", v.rx_packets},
                           {"rx_bytes", v.rx_bytes},
                           {"tx_packets", v.tx_packets},
                           {"flooded", v.flooded}});
    return out;
}

/// FDB filter of a request.
bridges::which which_of(controller& c, const request_fields& f) {
    bridges::which w;
    if (f.has("bridge")) {
        w.bridge = f.text("bridge");
        if (c.running().bridges.find(w.bridge) == nullptr)
            throw error{EINVAL, "bridge", "'" + w.bridge + "' is not a bridge"};
    }
    if (f.has("port")) {
        const auto at = c.interfaces().indexes().find(f.text("port"));
        if (at == c.interfaces().indexes().end())
            throw error{EINVAL, "port", "'" + f.text("port") + "' is not a port"};
        w.ifindex = at->second;
    }
    if (f.has("vlan")) w.vlan = static_cast<uint16_t>(f.number_or("vlan", 0, 1, state::last_vlan));
    if (f.has("mac")) w.mac = parsed(parse_mac(f.text("mac")), "mac");
    return w;
}

json fdb_entry_json(controller& c, const known_fdb_entry& s) {
    const auto [bridge, vlan] = c.bridges().name_of(s.domain);
    const bool ours = c.snapshot().interfaces[s.ifindex].kind == datapath::interface_kind::routed;
    return {{"bridge", bridge},
            {"vlan", name_of_vlan(vlan)},
            {"mac", s.mac.text()},
            {"port", c.interfaces().name_of(s.ifindex)},
            {"kind", ours         ? "local"
                     : s.fixed    ? "static"
                     : s.dampened ? "held"
                                  : "learnt"},
            {"age_s", s.fixed ? json(nullptr) : json(s.age_s)}};
}

/// Bindings in order.
using heard = std::pair<datapath::address_key, datapath::bound_address>;
std::vector<heard> all_bindings(bridges& of) {
    std::vector<heard> all;
    if (of.addresses() == nullptr) return all;
    of.addresses()->table().for_each([&](const datapath::address_key& k, uint64_t who) {
        all.emplace_back(k, datapath::bound_address(who));
    });
    const auto order = [](const heard& h) {
        const auto bytes = neigh_binding_table::address_of(h.first);
        return std::pair(neigh_binding_table::domain_of(h.first), bytes);
    };
    std::sort(all.begin(), all.end(),
              [&](const heard& a, const heard& b) { return order(a) < order(b); });
    return all;
}

json binding_json(controller& c, const heard& h) {
    const uint16_t domain = neigh_binding_table::domain_of(h.first);
    const auto [bridge, vlan] = c.bridges().name_of(domain);
    const auto fdb_entry = c.bridges().table()->find(h.second.mac() | uint64_t{domain} << 48);
    return {
        {"bridge", bridge},
        {"vlan", name_of_vlan(vlan)},
        {"address", neigh_binding_table::address_of(h.first).text()},
        {"mac", datapath::mac_of(h.second.mac()).text()},
        {"port", fdb_entry ? json(c.interfaces().name_of(datapath::fdb_entry(*fdb_entry).ifindex()))
                           : json(nullptr)}};
}

}  // namespace

json show_neigh_suppress(controller& c, const request_fields& f) {
    const std::string wanted = which_of(c, f).bridge;
    const uint64_t from = f.number_or("from", 0, 0, neigh_binding_table::most), most = page_of(f);
    const auto all = all_bindings(c.bridges());
    json list = json::array(), next = nullptr;
    for (uint64_t i = from; i < all.size(); ++i) {
        if (list.size() == most) {
            next = i;
            break;
        }
        json one = binding_json(c, all[i]);
        if (wanted.empty() || one["bridge"] == wanted) list.push_back(std::move(one));
    }
    // Clients of earlier releases ask for "heard".
    const char* const name = f.text("what") == "heard" ? "heard" : "bindings";
    const auto* const table = c.bridges().addresses();
    return {{name, std::move(list)},
            {"next", std::move(next)},
            {"refused", table != nullptr ? table->refused() : 0}};
}

json show_bridges(controller& c, const request_fields&) {
    const observe::inventory all = shown_objects(c, add_bridges);
    json list = json::array();
    for (const observe::bridge_report& n : all.bridges) {
        const state::bridge& b = c.running().bridges.at(n.name);
        json members = json::array();
        for (const state::bridge_member& m : b.members) members.push_back(member_json(m));
        list.push_back(
            json::parse(sources::json_of(sources::bridge_fields(), sources::of_bridge, b)));
        list.back().update({{"name", n.name},
                            {"stations", n.entries},
                            {"learnt", n.learned},
                            {"moves", n.moved},
                            {"aged", n.aged},
                            {"held", n.dampened},
                            {"refused", n.refused},
                            {"members", std::move(members)},
                            {"vlans", vlans_json(n)}});
    }
    json heard = json::array();
    for (const observe::reserved_report& h : all.reserved)
        heard.push_back(
            {{"port", h.interface}, {"group", h.group}, {"from", h.from}, {"frames", h.frames}});
    return with_period(c, {{"bridges", std::move(list)},
                           {"reserved", std::move(heard)},
                           {"messages_lost", all.fdb_messages_lost}});
}

json show_fdb(controller& c, const request_fields& f) {
    const bridges::which wanted = which_of(c, f);
    const auto from = static_cast<uint32_t>(f.number_or("from", 0, 0, datapath::max_fdb_entries));
    const uint64_t most = page_of(f);
    json list = json::array(), next = nullptr;
    c.bridges().for_each(from, [&](uint32_t number, const known_fdb_entry& s) {
        if (!c.bridges().fits(s, wanted)) return true;
        if (list.size() == most) {
            next = number;
            return false;
        }
        list.push_back(fdb_entry_json(c, s));
        return true;
    });
    return {{"fdb", std::move(list)}, {"next", std::move(next)}};
}

uint32_t flush_fdb_entries(controller& c, const request_fields& f) {
    return c.bridges().forget(which_of(c, f));
}

}  // namespace turnpike::control
