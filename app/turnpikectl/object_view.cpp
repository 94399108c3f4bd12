// SPDX-License-Identifier: BSD-3-Clause
#include "object_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "ask.hpp"
#include "connection.hpp"
#include "print.hpp"
#include "yaml/reader.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;

/// The elements of a list whose member is one of two names.
json rows_of(const json& result, const char* list, const char* key, const std::string& name,
             const std::string& or_name) {
    json out = json::array();
    for (const json& one : result.value(list, json::array()))
        if (const std::string is = text_of(one, key); is == name || is == or_name)
            out.push_back(one);
    return out;
}

/// The results of the subjects that tell of an object.
class subjects {
  public:
    explicit subjects(connection& to) : to_(to) {}

    /// All pages of a subject.
    result<json> of(const std::string& what) {
        json request = {{"request", "show"}, {"what", what}}, whole;
        if (what == "acl") request["rules"] = false;
        if (what == "log") request["most"] = 1000;
        while (true) {
            auto page = result_in(to_.ask(request));
            if (!page || !page->is_object()) return page;
            const json next = page->value("next", json());
            if (whole.is_null())
                whole = std::move(*page);
            else if (page->contains(what))
                for (json& one : (*page)[what]) whole[what].push_back(std::move(one));
            if (next.is_null()) return whole;
            request["from"] = next;
        }
    }

  private:
    connection& to_;
};

/// The last change of a port's link that the log has.
json last_change(const json& log, const std::string& port) {
    json out;
    for (const json& line : log.value("log", json::array())) {
        const json fields = line.value("fields", json::object());
        if (text_of(fields, "what") == "link" && text_of(fields, "port") == port)
            out = {{"at", line.value("time", json())}, {"to", fields.value("to", json())}};
    }
    return out;
}

/// The interface or the port of a name, and what other subjects have of it.
result<json> object_json(subjects& all, const given& g) {
    const bool is_port = g.words[1].second == "ports";
    const std::string list = is_port ? "ports" : "interfaces",
                      name = g.value(is_port ? "PORT" : "INTERFACE");
    std::map<std::string, json> shown;
    for (const char* what : {"interfaces", "ports", "bridges", "acl", "neighbours", "punt",
                             "tunnels", "mirrors", "log"}) {
        auto one = all.of(what);
        if (!one) return tl::unexpected<error>(one.error());
        shown[what] = std::move(*one);
    }
    json out = {{list, rows_of(shown[list], list.c_str(), "name", name, name)}};
    if (out[list].empty()) {
        std::vector<std::string> names;
        for (const json& one : shown[list].value(list, json::array()))
            names.push_back(text_of(one, "name"));
        const std::vector<std::string_view> views(names.begin(), names.end());
        return fail(ENOENT, "show " + list,
                    "'" + name + "' is not there" + yaml::suggestion(name, views));
    }
    const std::string port = is_port ? name : text_of(out[list].front(), "port");
    if (is_port)
        out["interfaces"] = rows_of(shown["interfaces"], "interfaces", "port", name, name);
    else
        out["ports"] = rows_of(shown["ports"], "ports", "name", port, port);
    out["last_change"] = last_change(shown["log"], port);
    out["members"] = json::array();
    for (const json& bridge : shown["bridges"].value("bridges", json::array()))
        for (json member : rows_of(bridge, "members", "port", name, name)) {
            member["bridge"] = bridge.value("name", json());
            out["members"].push_back(std::move(member));
        }
    out["acl"] = rows_of(shown["acl"], "acl", "port", name, name);
    out["punt"] = rows_of(shown["punt"], "punt", "interface", name, name);
    out["tunnels"] = rows_of(shown["tunnels"], "tunnels", "name", name, name);
    out["neighbours"] = json::object();
    for (const json& one : rows_of(shown["neighbours"], "neighbours", "interface", name, name)) {
        json& count = out["neighbours"][text_of(one, "state")];
        count = count.is_null() ? 1 : count.get<int>() + 1;
    }
    out["mirrors"] = json::array();
    for (const json& mirror : shown["mirrors"].value("mirrors", json::array())) {
        const json from = mirror.value("ports", json::array());
        const bool copies =
            from.is_array() && std::find(from.begin(), from.end(), name) != from.end();
        if (copies || text_of(mirror, "to") == name) out["mirrors"].push_back(mirror["name"]);
    }
    return out;
}

/// Members without a value are left out; rates and drops have tables.
json without_empty(json of) {
    json out = json::object();
    for (auto& [name, value] : of.items())
        if (!value.is_null() && name != "rates" && name != "drops" && name != "pcie" &&
            !(value.is_structured() && value.empty()))
            out[name] = std::move(value);
    return out;
}

std::string table_text(const std::string& title, std::string_view columns, const json& rows) {
    return rows.empty() ? std::string()
                        : "\n" + title + ":\n" + shown_text("rows", columns, {{"rows", rows}});
}

json rate_rows(const json& rates) {
    json rows = json::array();
    if (!rates.is_object()) return rows;
    for (const char* window : {"1s", "10s", "1min"}) {
        const json of = rates.value(window, json());
        if (!of.is_object()) continue;
        json row = {{"over", window}};
        for (const char* name : {"rx_packets", "rx_bits", "tx_packets", "tx_bits"})
            row[name] = of.contains(name) && of[name].is_number()
                            ? json(scaled(of[name].get<double>()))
                            : json();
        rows.push_back(std::move(row));
    }
    return rows;
}

std::string port_text(const json& result) {
    std::string out;
    for (const json& port : result.value("ports", json::array())) {
        out += "port " + text_of(port, "name") + ": link " + text_of(port, "link");
        if (const json last = result.value("last_change", json()); last.is_object())
            out += ", last change " + text_of(last, "at") + " (" + text_of(last, "to") + ")";
        out += "\n" + shown_text({}, {}, without_empty(port));
        json drops = json::array();
        const json counts = port.value("drops", json::object());
        for (const auto& [reason, packets] : counts.items())
            if (packets != 0) drops.push_back({{"reason", reason}, {"packets", packets}});
        out += table_text("drops of the port", "reason packets", drops);
    }
    return out;
}

std::string object_text(const given& g, const json& result) {
    std::string out;
    const bool is_port = g.words[1].second == "ports";
    if (is_port) {
        out = port_text(result);
        out += table_text("interfaces", "name kind vlan vrf bridge mtu addresses",
                          result["interfaces"]);
    } else {
        const json& interface = result["interfaces"].front();
        out = "interface " + text_of(interface, "name") + ": " + text_of(interface, "kind") + "\n" +
              shown_text({}, {}, without_empty(interface));
        out += table_text("rates per second", "over rx_packets rx_bits tx_packets tx_bits",
                          rate_rows(interface.value("rates", json())));
    }
    out += table_text("bridge member", "bridge port mode vlan trunks learning locked isolation",
                      result["members"]);
    out += table_text("tunnel", "name vni local remote udp_port vrf mtu", result["tunnels"]);
    out += table_text("ACLs", "direction list permitted denied", result["acl"]);
    if (!result["neighbours"].empty())
        out += "\nneighbours:\n" + shown_text({}, {}, result["neighbours"]);
    out += table_text("packets for control", "class rate punted dropped", result["punt"]);
    for (const json& mirror : result["mirrors"])
        out += "\nmirror: " + mirror.get<std::string>() + "\n";
    if (!is_port && !result["ports"].empty()) out += "\n" + port_text(result);
    return out;
}

}  // namespace

int show_object(const given& g) {
    auto to = connect(g);
    if (!to) return complain(to.error(), exit_no_connection);
    subjects all(*to);
    const auto result = object_json(all, g);
    if (!result) return complain(result.error(), exit_of_answer(result.error()));
    print_text(g.as_json() ? json_line(*result) : object_text(g, *result));
    return flush_output();
}

}  // namespace turnpike::ctl
