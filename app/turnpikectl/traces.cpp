// SPDX-License-Identifier: BSD-3-Clause
#include "traces.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "ask.hpp"
#include "base/printable.hpp"
#include "pcap_frame.hpp"
#include "print.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;

/// "ARP"; "type 0x88b5" of a type that has no short name.
std::string type_text(const std::string& type) {
    for (const auto& [number, name] : {std::pair("0x0806", "ARP"),
                                       {"0x88cc", "LLDP"},
                                       {"0x8809", "slow protocols (LACP)"},
                                       {"0x8863", "PPPoE discovery"},
                                       {"0x8864", "PPPoE"},
                                       {"0x8847", "MPLS"},
                                       {"0x888e", "802.1X"}})
        if (type == number) return name;
    return "type " + type;
}

/// "02:00:00:00:00:01 > 02:00:00:00:00:0b, VLAN 10, 10.0.1.2:1024 > 10.9.1.1:53 protocol 17"
std::string headers_text(const json& lead) {
    std::string out = value_text(lead, "source_mac") + " > " + value_text(lead, "destination_mac");
    for (const json& tag : lead.value("tags", json::array())) {
        out += ", VLAN " + value_text(tag, "vlan");
        if (tag.value("priority", 0) != 0) out += " priority " + value_text(tag, "priority");
    }
    if (!lead.contains("protocol"))
        return out + ", " +
               type_text(value_text(
                   lead, lead.contains("inner_ethertype") ? "inner_ethertype" : "ethertype"));
    const auto end = [&](const char* address, const char* port) {
        const std::string a = value_text(lead, address);
        if (!lead.contains(port)) return a;
        return (a.find(':') == std::string::npos ? a : "[" + a + "]") + ":" +
               value_text(lead, port);
    };
    out += ", " + end("source", "source_port") + " > " + end("destination", "destination_port") +
           " protocol " + value_text(lead, "protocol");
    if (!lead.contains("vni")) return out;
    out += ", VNI " + value_text(lead, "vni");
    return lead.contains("inner") ? out + " [" + headers_text(lead["inner"]) + "]" : out;
}

/// "64 bytes, " and the headers.
std::string lead_text(const json& lead) {
    const std::string out = value_text(lead, "bytes") + " bytes";
    return lead.contains("ethertype") ? out + ", " + headers_text(lead) : out;
}

std::string nexthop_text(const json& nexthop) {
    std::string out =
        "next hop " + value_text(nexthop, "next_hop") + ", " + value_text(nexthop, "type");
    for (const char* name : {"reason", "interface", "via", "mac"})
        if (nexthop.contains(name) && !nexthop[name].is_null())
            out += std::string(" ") + name + " " + value_text(nexthop, name);
    return out;
}

/// "rule web (turnpike.yaml:12)"
std::string rule_text(const json& rule) {
    std::string out = value_text(rule, "rule");
    out = out == "default" ? "the default" : "rule " + out;
    if (const json where = rule.value("where", json()); !where.is_null())
        out += " (" + value_text(rule, "where") + ")";
    return out;
}

/// The deciding rule, and a line for each rule that almost matched.
void add_acl(std::vector<std::string>& lines, const json& acl) {
    std::string out = "ACL " + value_text(acl, "list") + ", " + value_text(acl, "direction") +
                      " of " + value_text(acl, "interface") + ": ";
    if (acl.contains("rule")) out += value_text(acl, "action") + " by " + rule_text(acl);
    if (acl.value("text", json()).is_string()) out += ": " + value_text(acl, "text");
    lines.push_back(out);
    for (const json& name : acl.value("counted", json::array()))
        lines.push_back("counted by rule " + value_text({{"rule", name}}, "rule"));
    for (const json& near : acl.value("near", json::array()))
        lines.push_back("near: " + rule_text(near) + " would " + value_text(near, "action") + ": " +
                        value_text(near, "field") + " should be " + value_text(near, "expected") +
                        ", the packet's is " + value_text(near, "packet"));
}

std::string route_text(const json& route) {
    const std::string address = value_text(route, "address"), vrf = value_text(route, "vrf");
    const std::string in_vrf = vrf == "main" ? "" : " in VRF " + vrf;
    if (route.value("to", json()).is_null()) return "no route to " + address + in_vrf;
    std::string out = "route " + value_text(route, "to") + in_vrf + " to " + address + ", " +
                      value_text(route, "origin");
    if (route.contains("protocol")) out += ": " + value_text(route, "protocol");
    if (route.contains("daemon")) out += " by " + value_text(route, "daemon");
    if (route.contains("metric")) out += ", metric " + value_text(route, "metric");
    if (const json typed = route.value("configured_by", json()); typed.is_object())
        out += " by " + value_text(typed, "by") + ": " + value_text(typed, "what");
    return out;
}

std::string fdb_entry_text(const json& entry) {
    std::string out = "to " + value_text(entry, "mac") + ": ";
    if (!entry.value("port", json()).is_null())
        return out + "FDB entry at " + value_text(entry, "port");
    out += "no FDB entry";
    const char* between = " in this VLAN; ";
    for (const json& other : entry.value("elsewhere", json::array())) {
        out += between + ("VLAN " + value_text(other, "vlan")) + " has it at " +
               value_text(other, "port");
        between = ", ";
    }
    return out;
}

/// The result of a step, and its reasons, a line each.
std::vector<std::string> step_lines(const json& step) {
    std::string says;
    const auto add = [&](const std::string& more) { says += (says.empty() ? "" : ", ") + more; };
    if (step.contains("interface")) add(value_text(step, "interface"));
    if (step.contains("bridge")) add(value_text(step, "bridge"));
    if (step.contains("vlan")) add("VLAN " + value_text(step, "vlan"));
    if (step.contains("next_hop")) add(nexthop_text(step["next_hop"]));
    if (step.contains("why")) add(value_text(step, "why"));
    if (step.contains("reason"))
        add(value_text(step, "reason") +
            (step.contains("meaning") ? ": " + value_text(step, "meaning") : ""));
    if (step.contains("egress")) add("by " + value_text(step, "egress"));
    if (step.contains("packets")) add(value_text(step, "packets") + " packets");
    if (step.contains("pass")) add("pass " + value_text(step, "pass"));
    std::vector<std::string> lines = {says};
    if (step.contains("route")) lines.push_back(route_text(step["route"]));
    if (step.contains("fdb_entry")) lines.push_back(fdb_entry_text(step["fdb_entry"]));
    for (const json& acl : step.value("acl", json::array())) add_acl(lines, acl);
    if (step.contains("member")) {
        json nexthop = step["member"];
        nexthop.erase("reason");
        lines.push_back("member: " + nexthop_text(nexthop));
        lines.push_back(value_text(step["member"], "reason"));
        for (const json& out : step["member"].value("unable", json::array()))
            lines.push_back("member without traffic: " + nexthop_text(out));
    }
    if (step.contains("neighbour"))
        lines.push_back("neighbour " + value_text(step["neighbour"], "address") + ": " +
                        value_text(step["neighbour"], "state"));
    if (step.contains("remedy")) lines.push_back("remedy: " + value_text(step, "remedy"));
    if (says.empty() && lines.size() > 1) lines.erase(lines.begin());
    return lines;
}

/// One stage of the path, with its details.
std::string step_text(const json& step) {
    const std::string indent(step.contains("copy") ? 4 : 2, ' ');
    std::string out, stage = value_text(step, "stage");
    for (const std::string& line : step_lines(step)) {
        std::string one = fmt::format("{}{:<12} {}", indent, std::exchange(stage, ""), line);
        one.erase(one.find_last_not_of(' ') + 1);
        if (!one.empty()) out += one + "\n";
    }
    return out;
}

/// The path of a packet, with a heading at each copy.
std::string path_text(const json& one) {
    std::string out;
    uint64_t copy = 0;
    json egress;
    for (json step : one.value("path", json::array())) {
        if (step.contains("next_hop")) egress = step["next_hop"];
        if (step.contains("member")) egress = step["member"];
        if (step.value("stage", json()) == "fragment" && egress.contains("mtu"))
            step["why"] =
                "MTU " + value_text(egress, "mtu") + " of " + value_text(egress, "interface");
        if (const uint64_t now = step.value("copy", uint64_t{0}); now != copy && now != 0)
            out += fmt::format("  copy {}\n", copy = now);
        out += step_text(step);
    }
    if (one.value("truncated", false)) out += "  and more\n";
    if (const json sent = one.value("sent", json()); sent.is_object())
        out += "  sent: " + lead_text(sent) + "\n";
    return out;
}

std::string received_text(const json& one) {
    return value_text(one, "port") + " queue " + value_text(one, "queue") + ": " +
           lead_text(one.value("received", json::object()));
}

}  // namespace

result<json> trace(const given& g) {
    json request = {{"request", "trace"}, {"packets", std::stoul(g.value("NUMBER"))}};
    if (g.has("PORT")) request["port"] = g.value("PORT");
    if (g.has("ADDRESS")) request["address"] = g.value("ADDRESS");
    if (g.has("dropped")) request["dropped"] = true;
    return request;
}

std::string tracing(const given&, const json& result) {
    const std::string packets = value_text(result, "packets");
    return packets == "0" ? "tracing: no more\n"
                          : "tracing: " + packets + " packets, for `show trace`\n";
}

namespace {

/// The request with a frame of a capture file.
result<json> with_pcap_frame(json request, const given& g) {
    const std::string of = g.option("--pcap");
    const auto frame = read_pcap_frame(of);
    if (!frame) return tl::unexpected<error>(frame.error());
    if (frame->captured < frame->bytes.size())
        fmt::print(stderr,
                   "turnpikectl: {}: the capture has {} of the frame's {} bytes; the others are "
                   "taken as 0\n",
                   printable(of), frame->captured, frame->bytes.size());
    std::string digits;
    for (const uint8_t byte : frame->bytes) digits += fmt::format("{:02x}", byte);
    request["frame"] = std::move(digits);
    return request;
}

}  // namespace

result<json> explain(const given& g) {
    static const std::set<std::string_view> numbers = {"source_port", "destination_port", "ttl",
                                                       "vlan", "bytes"};
    json request = {{"request", "explain"}, {"port", g.value("INTERFACE")}};
    if (g.options.contains("--pcap")) return with_pcap_frame(std::move(request), g);
    if (g.words.size() == 2)
        return misuse("explain",
                      "needs the packet: from and to, frame, or --pcap; see `turnpikectl explain "
                      "--help`");
    for (size_t i = 2; i + 1 < g.words.size(); i += 2) {
        const std::string_view member = g.words[i].first;
        const std::string& text = g.words[i + 1].second;
        request[std::string(member)] =
            numbers.contains(member) ? json(std::stoul(text)) : json(text);
    }
    return request;
}

std::string explained(const given&, const json& result) {
    return received_text(result) + "\n" + path_text(result);
}

std::string traces_text(const given&, const json& result) {
    std::string out;
    for (const json& one : result.value("traces", json::array()))
        out += fmt::format(
            "{:.6f} s ago, lcore {}{}, {}\n{}\n", one.value("age_s", 0.0), value_text(one, "lcore"),
            one.value("control", false) ? " (control)" : "", received_text(one), path_text(one));
    if (result.value("next", json()).is_null())
        out += value_text(result, "written") + " of " + value_text(result, "requested") +
               " packets written\n";
    return out;
}

}  // namespace turnpike::ctl
