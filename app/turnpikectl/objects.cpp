// SPDX-License-Identifier: BSD-3-Clause
#include "objects.hpp"

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "ask.hpp"
#include "command_line.hpp"
#include "print.hpp"

namespace turnpike::ctl {

using nlohmann::json;

json list_of(const std::string& text) {
    json out = json::array();
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        out.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

namespace {

/// Pairs of keyword and value from word `from` on. Numbers are sent as strings: turnpike accepts both.
json members(const given& g, size_t from, json out = json::object()) {
    for (size_t i = from; i + 1 < g.words.size(); i += 2)
        out[std::string(g.words[i].second)] = g.words[i + 1].second;
    return out;
}

json change(const given& g, json object) {
    const std::string &kind = g.words[0].second, &verb = g.words[1].second;
    json request = {{"request", "change"}, {"do", {{{verb, {{kind, std::move(object)}}}}}}};
    add_confirm(g, request);
    return request;
}

/// Moves acl_in, acl_out, l2_in and l2_out into the configuration's "acl: {in, out, ...}".
void gather_lists(json& port) {
    for (const auto& [word, member] : {std::pair("acl_in", "in"),
                                       {"acl_out", "out"},
                                       {"l2_in", "l2_in"},
                                       {"l2_out", "l2_out"}}) {
        if (!port.contains(word)) continue;
        if (!port.contains("acl")) port["acl"] = json::object();
        port["acl"][member] = port[word] == "none" ? json() : port[word];
        port.erase(word);
    }
}

/// Moves storm_* into a bridge port's "storm: {broadcast, multicast, unknown}".
void gather_storm(json& member) {
    for (const char* kind : {"broadcast", "multicast", "unknown"}) {
        const std::string word = std::string("storm_") + kind;
        if (!member.contains(word)) continue;
        member["storm"][kind] = member[word];
        member.erase(word);
    }
}

/// "110:20,111:21": [{wire, vlan}]
json pairs_of(const std::string& text) {
    json out = json::array();
    for (const std::string pair : list_of(text)) {
        const size_t colon = std::min(pair.find(':'), pair.size());
        out.push_back({{"wire", pair.substr(0, colon)},
                       {"vlan", pair.substr(std::min(colon + 1, pair.size()))}});
    }
    return out;
}

/// The text of a file of rules. A file that exceeds a request is refused.
result<std::string> text_of_file(const std::string& file) {
    constexpr size_t most = 900'000;
    std::ifstream in(file, std::ios::binary);
    std::string text(most + 1, '\0');
    if (!in.read(text.data(), static_cast<std::streamsize>(text.size())) && !in.eof())
        return fail(errno != 0 ? errno : EIO, file, "cannot be read");
    text.resize(static_cast<size_t>(in.gcount()));
    if (text.size() > most)
        return fail(EFBIG, file,
                    "is too long for a request; name the file in a configuration and apply that");
    return text;
}

}  // namespace

void add_confirm(const given& g, json& request) {
    constexpr std::string_view confirm = "--confirm";
    if (g.options.contains(confirm))
        request["confirm"] = (g.seconds(confirm, 0).count() + 999) / 1000;
}

namespace {

/// "main" names the main table.
void add_vrf(const given& g, json& to) {
    if (g.has("VRF")) to["vrf"] = g.value("VRF");
}

}  // namespace

result<json> change_vrf(const given& g) {
    return change(g, members(g, 3, {{"name", g.words[2].second}}));
}

result<json> change_route(const given& g) {
    json route = {{"to", g.value("PREFIX")}};
    for (const char* type : {"blackhole", "unreachable", "prohibit"})
        if (g.has(type)) {
            route["type"] = type;
            add_vrf(g, route);
            return change(g, std::move(route));
        }
    // Keywords without a value.
    given pairs = g;
    for (const char* alone : {"onlink", "recursive"})
        if (std::erase_if(pairs.words, [&](const auto& w) { return w.first == alone; }) != 0)
            route[alone] = true;
    return change(g, members(pairs, 3, std::move(route)));
}

/// route add PREFIX nexthop via ADDRESS ... nexthop ...
result<json> change_shared_route(const given& g) {
    json route = {{"to", g.value("PREFIX")}}, all = json::array();
    for (size_t i = 3; i < g.words.size(); ++i) {
        if (g.words[i].first == "nexthop") {
            all.push_back(json::object());
            continue;
        }
        if (g.words[i].first == "vrf") break;
        if (g.words[i].first == "recursive") {
            route["recursive"] = true;
            continue;
        }
        if (g.words[i].first == "mtu") {
            route["mtu"] = g.words[++i].second;
            continue;
        }
        if (g.words[i].first == "onlink") {
            all.back()["onlink"] = true;
            continue;
        }
        all.back()[std::string(g.words[i].first)] = g.words[i + 1].second;
        ++i;
    }
    route["via"] = std::move(all);
    add_vrf(g, route);
    return change(g, std::move(route));
}

result<json> change_neighbour(const given& g) {
    return change(g, members(g, 3, {{"address", g.value("ADDRESS")}}));
}

result<json> change_address(const given& g) {
    json address = {{"port", g.value("PORT")}};
    if (g.words[1].second == "replace")
        address["addresses"] = g.values("CIDR");
    else
        address["address"] = g.value("CIDR");
    return change(g, std::move(address));
}

result<json> change_port(const given& g) {
    json port = members(g, 3, {{"name", g.value("PORT")}});
    if (port.contains("addresses")) port["addresses"] = list_of(port["addresses"]);
    if (port.contains("rx_workers")) port["rx_workers"] = list_of(port["rx_workers"]);
    gather_lists(port);
    return change(g, std::move(port));
}

result<json> change_patch(const given& g) { return change(g, g.values("PORT")); }

/// bridge add NAME members PORTS: ports that ignore VLANs; the command "member" has all settings.
result<json> change_bridge(const given& g) {
    json bridge = members(g, 3, {{"name", g.words[2].second}});
    if (bridge.contains("members")) {
        json all = json::array();
        for (const json& port : list_of(bridge["members"])) all.push_back({{"port", port}});
        bridge["members"] = std::move(all);
    }
    if (bridge.contains("addresses")) bridge["addresses"] = list_of(bridge["addresses"]);
    return change(g, std::move(bridge));
}

result<json> change_member(const given& g) {
    json member = members(g, 4, {{"bridge", g.words[2].second}, {"port", g.words[3].second}});
    if (member.contains("trunks")) member["trunks"] = list_of(member["trunks"]);
    if (member.contains("translate")) member["translate"] = pairs_of(member["translate"]);
    gather_storm(member);
    return change(g, std::move(member));
}

/// tunnel add NAME ...
result<json> change_tunnel(const given& g) {
    return change(g, members(g, 3, {{"name", g.words[2].second}}));
}

/// fdb add BRIDGE MAC ...
result<json> change_station(const given& g) {
    return change(g, members(g, 4, {{"bridge", g.words[2].second}, {"mac", g.words[3].second}}));
}

/// interface add PORT VLAN ...
result<json> change_interface(const given& g) {
    json i = members(g, 4, {{"port", g.words[2].second}, {"vlan", g.words[3].second}});
    if (i.contains("addresses")) i["addresses"] = list_of(i["addresses"]);
    gather_lists(i);
    return change(g, std::move(i));
}

result<json> change_acl(const given& g) {
    json list = {{"name", g.value("LIST")}};
    for (size_t i = 3; i + 1 < g.words.size(); ++i) {
        for (const char* key : {"layer", "default"})
            if (g.words[i].first == key) list[key] = g.words[i + 1].second;
        if (g.words[i].first != "rules") continue;
        const auto text = text_of_file(g.value("FILE"));
        if (!text) return tl::unexpected<error>(text.error());
        list["rules"] = {{{"action", g.words[i + 2].second}, {"lines", *text}}};
    }
    if (g.words[1].second == "add" && !list.contains("rules")) list["rules"] = json::array();
    return change(g, std::move(list));
}

result<json> change_rule(const given& g) {
    const std::string& verb = g.words[1].second;
    json out = {{"list", g.value("LIST")}};
    size_t at = 3;
    if (verb != "add") {
        const std::string& rule = g.words[at++].second;
        const bool place = rule.find_first_not_of("0123456789") == std::string::npos;
        out[place ? "at" : "name"] = rule;
    }
    if (verb == "del") return change(g, std::move(out));
    json rule = members(g, at + 1, {{"action", g.words[at].second}});
    if (rule.contains("at")) {
        out["at"] = rule["at"];
        rule.erase("at");
    }
    out["rule"] = std::move(rule);
    return change(g, std::move(out));
}

namespace {

/// Splits a line at blanks; quotes protect blanks.
result<std::vector<std::string>> split_words(const std::string& line) {
    std::vector<std::string> out;
    bool inside = false, quoted = false;
    for (const char c : line) {
        const bool blank = c == ' ' || c == '\t' || c == '\r';
        if (c == '"') quoted = !quoted;
        if (blank && !quoted) {
            inside = false;
            continue;
        }
        if (!std::exchange(inside, true)) out.emplace_back();
        if (c != '"') out.back() += c;
    }
    if (quoted) return fail(EINVAL, {}, "a quote is not closed");
    return out;
}

/// Appends the changes of a line.
result<void> add_line(const std::string& line, json& changes) {
    const auto words = split_words(line);
    if (!words) return tl::unexpected<error>(words.error());
    if (words->empty() || words->front()[0] == '#') return {};
    const auto read = read_command_line(*words);
    if (!read) return tl::unexpected<error>(read.error());
    if (read->what == nullptr || !read->says.options.empty())
        return fail(EINVAL, {}, "options are not allowed in a batch line");
    if (read->what->request == nullptr) return fail(EINVAL, words->front(), "changes no object");
    auto request = read->what->request(read->says);
    if (!request) return tl::unexpected<error>(request.error());
    if (request->value("request", std::string()) != "change")
        return fail(EINVAL, words->front(), "changes no object");
    for (json& one : (*request)["do"]) changes.push_back(std::move(one));
    return {};
}

}  // namespace

result<json> change_many(const given& g) {
    const std::string file = g.value("FILE");
    std::ifstream named;
    if (file != "-") {
        named.open(file);
        if (!named) return fail(errno != 0 ? errno : EIO, file, "cannot be read");
    }
    std::istream& in = file == "-" ? std::cin : named;
    json changes = json::array();
    std::string line;
    for (unsigned number = 1; std::getline(in, line); ++number)
        if (const auto added = add_line(line, changes); !added)
            return fail(EINVAL, file + ":" + std::to_string(number), added.error().message());
    json request = {{"request", "change"}, {"do", std::move(changes)}};
    add_confirm(g, request);
    return request;
}

}  // namespace turnpike::ctl
