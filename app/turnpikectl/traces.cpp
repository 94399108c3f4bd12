// SPDX-License-Identifier: BSD-3-Clause
#include "traces.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/printable.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;

std::string text_of(const json& j, const char* name) {
    const json value = j.value(name, json());
    return value.is_string() ? printable(value.get_ref<const std::string&>()) : value.dump();
}

/// "64 bytes, 02:00:00:00:00:01 > 02:00:00:00:00:0b, 10.0.1.2:1024 > 10.9.1.1:53 protocol 17"
std::string lead_text(const json& lead) {
    std::string out = text_of(lead, "bytes") + " bytes";
    if (!lead.contains("ethertype")) return out;
    out += ", " + text_of(lead, "source_mac") + " > " + text_of(lead, "destination_mac");
    if (!lead.contains("protocol")) return out + ", type " + text_of(lead, "ethertype");
    const auto end = [&](const char* address, const char* port) {
        const std::string a = text_of(lead, address);
        if (!lead.contains(port)) return a;
        return (a.find(':') == std::string::npos ? a : "[" + a + "]") + ":" + text_of(lead, port);
    };
    return out + ", " + end("source", "source_port") + " > " +
           end("destination", "destination_port") + " protocol " + text_of(lead, "protocol");
}

std::string hop_text(const json& hop) {
    std::string out = "next hop " + text_of(hop, "next_hop") + ", " + text_of(hop, "type");
    for (const char* name : {"reason", "interface", "via", "mac"})
        if (hop.contains(name) && !hop[name].is_null())
            out += std::string(" ") + name + " " + text_of(hop, name);
    return out;
}

/// One stage of the path, with its details.
std::string step_text(const json& step) {
    std::string says;
    const auto add = [&](const std::string& more) { says += (says.empty() ? "" : ", ") + more; };
    if (step.contains("interface")) add(text_of(step, "interface"));
    if (step.contains("bridge")) add(text_of(step, "bridge"));
    if (step.contains("vlan")) add("VLAN " + text_of(step, "vlan"));
    if (step.contains("hop")) add(hop_text(step["hop"]));
    if (step.contains("why")) add(text_of(step, "why"));
    if (step.contains("reason")) add(text_of(step, "reason"));
    if (step.contains("by")) add("by " + text_of(step, "by"));
    if (step.contains("packets")) add(text_of(step, "packets") + " packets");
    if (step.contains("pass")) add("pass " + text_of(step, "pass"));
    const std::string indent(step.contains("copy") ? 4 : 2, ' ');
    return fmt::format("{}{:<10} {}", indent, text_of(step, "stage"), says);
}

/// The path of a packet, with a heading at each copy.
std::string way_text(const json& one) {
    std::string out;
    uint64_t copy = 0;
    for (const json& step : one.value("way", json::array())) {
        if (const uint64_t now = step.value("copy", uint64_t{0}); now != copy && now != 0)
            out += fmt::format("  copy {}\n", copy = now);
        std::string line = step_text(step);
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    if (one.value("cut", false)) out += "  and more\n";
    if (const json left = one.value("left", json()); left.is_object())
        out += "  left: " + lead_text(left) + "\n";
    return out;
}

std::string came_text(const json& one) {
    return text_of(one, "port") + " queue " + text_of(one, "queue") + ": " +
           lead_text(one.value("came", json::object()));
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
    const std::string packets = text_of(result, "packets");
    return packets == "0" ? "tracing: no more\n"
                          : "tracing: " + packets + " packets, for `show trace`\n";
}

result<json> explain(const given& g) {
    static const std::set<std::string_view> numbers = {"source_port", "destination_port", "ttl",
                                                       "vlan", "bytes"};
    json request = {{"request", "explain"}, {"port", g.value("PORT")}};
    for (size_t i = 2; i + 1 < g.words.size(); i += 2) {
        const std::string_view member = g.words[i].first;
        const std::string& text = g.words[i + 1].second;
        request[std::string(member)] =
            numbers.contains(member) ? json(std::stoul(text)) : json(text);
    }
    return request;
}

std::string explained(const given&, const json& result) {
    return came_text(result) + "\n" + way_text(result);
}

std::string traces_text(const given&, const json& result) {
    std::string out;
    for (const json& one : result.value("traces", json::array()))
        out += fmt::format("{:.6f} s ago, lcore {}, {}\n{}\n", one.value("age_s", 0.0),
                           text_of(one, "lcore"), came_text(one), way_text(one));
    if (result.value("next", json()).is_null())
        out +=
            text_of(result, "written") + " of " + text_of(result, "wanted") + " packets written\n";
    return out;
}

}  // namespace turnpike::ctl
