// SPDX-License-Identifier: BSD-3-Clause
#include "tables.hpp"

#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "datapath/drop_reason.hpp"
#include "print.hpp"

namespace turnpike::ctl {

using nlohmann::json;

std::string pcie_text(const given&, const json& result) {
    json rows = json::array();
    for (const json& port : result.value("ports", json::array()))
        for (const char* source : {"modelled", "counted", "measured"}) {
            json row = {{"name", port.value("name", json())}, {"source", source}};
            const json lines =
                port.value(json::json_pointer("/" + std::string(source) + "/per_packet/lines"),
                           json::object());
            const auto sum = [&](std::initializer_list<const char*> names) {
                double n = 0;
                for (const char* what : names) {
                    const auto at = lines.find(what);
                    if (at == lines.end() || !at->is_number()) return json();
                    n += at->get<double>();
                }
                return json(n);
            };
            if (!lines.empty()) {
                row["reads"] = sum({"rd_cur"});
                row["writes"] = sum({"itom", "rfo"});
                row["partial"] = sum({"rfo"});
                row["mmio"] = sum({"wil", "prd"});
            }
            row["why"] = port.value(json::json_pointer("/why/" + std::string(source)), json());
            rows.push_back(std::move(row));
        }
    json whole = result;
    whole["rows"] = std::move(rows);
    return shown_text("rows", "name source reads writes partial mmio why", whole);
}

std::string cost_text(const given&, const json& result) {
    std::string out = shown_text(
        "workers", "lcore packets pps cpp utilisation headroom_pps ipc ipp core_cpp core_ghz",
        result);
    const json v = result.value("verdict", json::object());
    if (!v.contains("bound")) return out;
    json rows = json::array();
    for (const auto& [name, of] : v["headroom"].items()) {
        json row = of;
        row["bound"] = name;
        rows.push_back(std::move(row));
    }
    out += "verdict: " + v["bound"].get<std::string>() + " (" + v["from"].get<std::string>() +
           "): " + v["says"].get<std::string>() + "\n";
    return out +
           shown_text("headroom", "bound of from used pps why", {{"headroom", std::move(rows)}});
}

std::string history_text(const given&, const json& result) {
    constexpr size_t longest = 60;
    json rows = json::array();
    for (const json& one : result.value("states", json::array())) {
        json row = one;
        const std::time_t when = one.value("when", std::time_t{0});
        std::tm local{};
        char text[32] = "";
        if (::localtime_r(&when, &local) != nullptr)
            std::strftime(text, sizeof text, "%F %T", &local);
        row["when"] = text;
        const std::string what = one.value("what", std::string());
        row["what"] = what.size() <= longest ? what : what.substr(0, longest - 3) + "...";
        rows.push_back(std::move(row));
    }
    std::string out =
        shown_text("states", "back when by what comment", {{"states", std::move(rows)}});
    if (result.value("unsaved", false)) out += "unsaved: turnpikectl save keeps it\n";
    if (const json left = result.value("undone_in_s", json()); left.is_number())
        out += "undone in " + left.dump() + " s unless turnpikectl confirm\n";
    return out;
}

std::string drops_text(const given&, const json& result) {
    json rows = json::array();
    const json all = result.value("drops", json::object());
    const json by_port = result.value("ports", json::object());
    for (const auto& [reason, packets] : all.items()) {
        std::string ports;
        for (const auto& [port, of] : by_port.items())
            if (const json n = of.value(reason, json(0)); n != 0)
                ports += (ports.empty() ? "" : ", ") + port + " " + n.dump();
        const datapath::drop_text* const text = datapath::find_drop(reason);
        if (packets == 0) continue;
        rows.push_back({{"reason", reason},
                        {"packets", packets},
                        {"ports", ports.empty() ? json() : json(ports)},
                        {"meaning", text == nullptr ? json() : json(text->meaning)}});
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const json& a, const json& b) { return a["packets"] > b["packets"]; });
    json whole = result;
    whole["drops"] = std::move(rows);
    return shown_text("drops", "reason packets ports meaning", whole);
}

/// Lists where they are bound, and of one list its rules with their positions. turnpike's own rules have none, and no place in
/// a file.
std::string acl_text(const given& g, const json& result) {
    std::string out = shown_text(
        "acl", "port direction list permitted denied table_bytes ipv4_search ipv6_search", result);
    if (!g.has("LIST")) return out;
    for (const json& bound : result.value("acl", json::array())) {
        json rows = json::array();
        size_t at = 0;
        for (json rule : bound.value("rules", json::array())) {
            const bool is_own = rule.value("where", json()).is_null();
            rule["at"] = is_own ? json() : json(++at);
            const std::string text = text_of(rule, "text");
            rule["rule"] = text.starts_with('{') ? text.substr(1, text.size() - 2)
                                                 : "action: " + text_of(rule, "action") +
                                                       ", name: " + text_of(rule, "name");
            rows.push_back(std::move(rule));
        }
        const bool is_bound = bound.value("port", json()).is_string();
        out += (is_bound ? text_of(bound, "port") + " " + text_of(bound, "direction")
                         : "not bound to an interface") +
               ":\n" +
               shown_text("rules", "at packets bytes rule where", {{"rules", std::move(rows)}});
    }
    return out;
}

namespace {

/// The rows, and below a group a row per member with its share of the group's buckets.
json with_members(const json& rows) {
    json out = json::array();
    for (const json& row : rows) {
        out.push_back(row);
        for (json member : row.value("members", json::array())) {
            for (const char* of_group : {"to", "origin", "protocol"})
                if (row.contains(of_group)) member[of_group] = "";
            member["type"] = "share " + member.value("buckets", json(0)).dump() + "/" +
                             row.value("buckets", json(0)).dump();
            out.push_back(std::move(member));
        }
    }
    return out;
}

}  // namespace

std::string routes_text(const given&, const json& result) {
    return shown_text("routes", "to origin protocol type reason interface via mac",
                      {{"routes", with_members(result.value("routes", json::array()))}});
}
std::string next_hops_text(const given&, const json& result) {
    return shown_text("next_hops", "next_hop type reason interface via mac mtu",
                      {{"next_hops", with_members(result.value("next_hops", json::array()))}});
}
std::string route_text(const given&, const json& result) {
    json values = result;
    if (!values.is_object() || values.erase("members") == 0) return shown_text({}, {}, result);
    return shown_text({}, {}, values) +
           shown_text("members", "interface via mac type weight buckets able", result);
}

/// The bridges, their members, their VLANs with traffic, and reserved frames that were received.
std::string bridges_text(const given& g, const json& result) {
    const json bridges = result.value("bridges", json::array());
    const auto rows_of = [&](const char* list) {
        json rows = json::array();
        for (const json& bridge : bridges)
            for (json row : bridge.value(list, json::array())) {
                row["bridge"] = bridge.value("name", json());
                rows.push_back(std::move(row));
            }
        return rows;
    };
    std::string out = shown_text(
        "bridges", "name stations learnt moves aged held refused ageing_s max_addresses", result);
    const auto add = [&](const char* title, const char* columns, json rows) {
        if (rows.empty()) return;
        out += std::string("\n") + title + ":\n" +
               shown_text("rows", columns, {{"rows", std::move(rows)}});
    };
    add("members", "bridge port mode vlan trunks learning locked isolation", rows_of("members"));
    add("VLANs with traffic", "bridge vlan rx_packets rx_bytes tx_packets flooded",
        rows_of("vlans"));
    if (!g.has("BRIDGE"))
        add("reserved frames", "port group from frames", result.value("reserved", json::array()));
    return out;
}

namespace {

/// "10-20,30" of a bridge member's trunks.
using vlan_ranges = std::vector<std::pair<unsigned, unsigned>>;

vlan_ranges ranges_of(const json& trunks) {
    vlan_ranges out;
    for (const json& one : trunks) {
        const std::string text = one.is_string() ? one.get<std::string>() : one.dump();
        const size_t dash = std::min(text.find('-'), text.size());
        const auto first = static_cast<unsigned>(std::stoul(text));
        out.emplace_back(first, dash == text.size()
                                    ? first
                                    : static_cast<unsigned>(std::stoul(text.substr(dash + 1))));
    }
    return out;
}

/// Members by the way in which they send a VLAN.
struct vlan_row {
    std::string untagged{}, tagged{};
};

/// A row per VLAN of an access port, of a native VLAN, of a short range of trunks, or with traffic.
std::map<unsigned, vlan_row> vlan_rows(const json& bridge) {
    constexpr unsigned max_range = 64;
    std::map<unsigned, vlan_row> rows;
    const json members = bridge.value("members", json::array());
    for (const json& vlan : bridge.value("vlans", json::array()))
        if (vlan.value("vlan", json()).is_number()) rows[vlan["vlan"].get<unsigned>()];
    for (const json& m : members) {
        if (m.value("vlan", json()).is_number()) rows[m["vlan"].get<unsigned>()];
        for (const auto& [first, last] : ranges_of(m.value("trunks", json::array())))
            for (unsigned v = first; v <= last && last - first < max_range; ++v) rows[v];
    }
    for (const json& m : members) {
        const vlan_ranges trunks = ranges_of(m.value("trunks", json::array()));
        const bool is_tagged = m.value("mode", json()) == "native-tagged";
        for (auto& [vlan, row] : rows) {
            const bool own = m.value("vlan", json()) == vlan;
            const bool in_trunk = std::ranges::any_of(
                trunks, [v = vlan](const auto& r) { return r.first <= v && v <= r.second; });
            if (!own && !in_trunk) continue;
            std::string& to = own && !is_tagged ? row.untagged : row.tagged;
            to += (to.empty() ? "" : ",") + m.value("port", std::string());
        }
    }
    return rows;
}

}  // namespace

std::string vlans_text(const given&, const json& result) {
    json rows = json::array();
    for (const json& bridge : result.value("bridges", json::array()))
        for (const auto& [vlan, row] : vlan_rows(bridge))
            rows.push_back({{"vlan", vlan},
                            {"bridge", bridge.value("name", json())},
                            {"untagged", row.untagged.empty() ? json() : json(row.untagged)},
                            {"tagged", row.tagged.empty() ? json() : json(row.tagged)}});
    return shown_text("vlans", "vlan bridge untagged tagged", {{"vlans", std::move(rows)}});
}

std::string control_plane_text(const given&, const json& result) {
    std::string out =
        shown_text("interfaces", "name index admin_up carrier given taken not_taken", result) +
        "\n";
    json rest = json::object();
    for (const auto& [name, value] : result.items())
        if (name != "interfaces" && name != "since_s" && name != "cleared" && !value.is_null())
            rest[name] = value;
    return out + shown_text({}, {}, rest);
}

}  // namespace turnpike::ctl
