// SPDX-License-Identifier: BSD-3-Clause
#include "commands.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/arguments.hpp"
#include "complete.hpp"
#include "manual.hpp"
#include "print.hpp"
#include "watch.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;

/// A line's bound; a file that does not fit is read by turnpike itself.
constexpr size_t most_request_bytes = 1u << 20;

result<json> show(const given& g) {
    const std::string& what = g.words.at(1).second;
    if (what == "help") return json{{"request", "help"}};
    json request = {{"request", "show"}, {"what", what}};
    if (g.has("ADDRESS")) request["address"] = g.value("ADDRESS");
    if (g.has("PREFIX")) request["to"] = g.value("PREFIX");
    if (g.has("longer")) request["longer"] = true;
    return request;
}

/// A file's text, and its whole path as its name.
result<json> with_file(const given& g) {
    const std::string file = g.value("FILE"), &name = g.words.front().second;
    std::ifstream in(file, std::ios::binary);
    std::string text(most_request_bytes, '\0');  // more does not fit a line
    if (!in.read(text.data(), static_cast<std::streamsize>(text.size())) && !in.eof()) {
        const int why = errno;
        return fail(why != 0 ? why : EIO, file, "cannot be read");
    }
    text.resize(static_cast<size_t>(in.gcount()));
    if (text.empty()) return fail(EINVAL, file, "is empty");
    const std::string path = std::filesystem::absolute(file).lexically_normal().string();
    json request = {{"request", name}, {"text", text}, {"name", path}};
    const std::string line = request.dump(-1, ' ', false, json::error_handler_t::replace);
    if (line.size() >= most_request_bytes) request = {{"request", name}, {"file", path}};
    return request;
}

/// The request of that name, and no more.
result<json> bare(const given& g) { return json{{"request", g.words.front().second}}; }

result<json> clear(const given&) { return json{{"request", "clear"}, {"what", "counters"}}; }
std::string cleared(const given&, const json&) { return "cleared: counters\n"; }

std::string report_text(const given&, const json& result) {
    return result.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}
/// A line for each port and source: in 64-byte lines of the bus.
std::string pcie_text(const given&, const json& result) {
    json rows = json::array();
    for (const json& port : result.value("ports", json::array()))
        for (const char* source : {"modelled", "counted", "measured"}) {
            json row = {{"name", port.value("name", json())}, {"source", source}};
            const json lines =
                port.value(json::json_pointer("/" + std::string(source) + "/per_packet/lines"),
                           json::object());
            const auto of = [&](const char* what) { return lines.value(what, 0.0); };
            if (!lines.empty()) {
                row["reads"] = of("rd_cur");
                row["writes"] = of("itom") + of("rfo");
                row["partial"] = of("rfo");
                row["mmio"] = of("wil") + of("prd");
            }
            row["why"] = port.value(json::json_pointer("/why/" + std::string(source)), json());
            rows.push_back(std::move(row));
        }
    json whole = result;
    whole["rows"] = std::move(rows);
    return shown_text("rows", "name source reads writes partial mmio why", whole);
}
std::string valid(const given&, const json& result) {
    return result.value("valid", std::string()) + ": valid\n";
}
std::string would_change(const given&, const json& result) {
    return "would change: " + changes_text(result);
}
std::string changed(const given&, const json& result) { return "changed: " + changes_text(result); }

constexpr command local(std::string_view usage, std::string_view help, int (*run)(const given&)) {
    return {usage, help, nullptr, nullptr, {}, {}, run};
}

constexpr command table[] = {
    {"show report", "the whole report, since the start, as JSON", show, report_text},
    {"show ports", "devices, their settings and counters", show, nullptr, "ports",
     "name driver link mtu mac rx_packets tx_packets rx_missed drops"},
    {"show interfaces", "addresses, patches and access lists", show, nullptr, "interfaces",
     "name kind port mtu mac addresses peer acl_in acl_out"},
    {"show routes [PREFIX [longer]]", "routes that count: all, a prefix's, or those below it too",
     show, nullptr, "routes", "to origin type reason interface via mac"},
    {"show route ADDRESS", "what a lookup of an address gives", show},
    {"show neighbours", "who is known or asked for", show, nullptr, "neighbours",
     "interface address state mac gateway static held next_hop"},
    {"show next-hops", "what routes lead to", show, nullptr, "next_hops",
     "next_hop type reason interface via mac mtu"},
    {"show acl", "access lists where they are bound, with what they counted", show, nullptr, "acl",
     "port direction list permitted denied table_bytes"},
    {"show drops", "packets that went no further, by reason", show},
    {"show cost", "cycles a packet, by worker", show, nullptr, "workers",
     "lcore packets pps cpp utilisation headroom_pps"},
    {"show pcie", "PCIe transactions a packet, by port", show, pcie_text},
    {"show isa", "the kernels that were chosen", show},
    {"show workers", "which lcore polls which queues", show, nullptr, "workers", "lcore rx_queues"},
    {"show config", "the configuration that runs, and how often it changed", show},
    {"show memory", "buffers, tables, neighbours", show},
    {"show help", "what this turnpike can be asked", show},
    {"check FILE", "whether a configuration is whole", with_file, valid},
    {"diff FILE", "what it would change", with_file, would_change},
    {"apply FILE", "become what it says: all of it, or nothing", with_file, changed},
    {"reload", "apply the file that turnpike was started with", bare, changed},
    {"clear counters", "what `show` counts begins at 0 again; the report's totals go on", clear,
     cleared},
    local("watch drops|cost|ports [--interval SECONDS]",
          "the same again and again, with rates since the last look; q ends it", watch),
    local("completion bash|zsh|fish", "a script by which that shell completes turnpikectl's words",
          print_script),
    local("complete [WORD...]", "", print_candidates),
    local("manual", "", print_manual),
};

constexpr common_option options[] = {
    {"--socket", "PATH", "turnpike's control socket (/run/turnpike/control.sock)"},
    {"--timeout", "SECONDS", "wait so long for an answer (60)"},
    {"--json", "", "print results as they come: a JSON object a line"},
    {"--help", "", "print this, or what there is behind the words before it"},
    {"--version", "", "print the version"},
};

constexpr topic first_words[] = {{"show", "what runs, as a table"}};

const char* no_seconds(const std::string& text) {
    const size_t point = std::min(text.find('.'), text.size());
    uint32_t whole = 0, rest = 0;
    const std::string fraction = point < text.size() ? text.substr(point + 1) : "0";
    const bool good = read_number<uint32_t>(text.substr(0, point), 0, 86400, whole) &&
                      fraction.size() <= 3 && read_number<uint32_t>(fraction, 0, 999, rest) &&
                      (whole != 0 || rest != 0);
    return good ? nullptr : "should be seconds, as 2 or 0.5, up to 86400";
}

constexpr value_kind kinds[] = {
    {"FILE", "a file's name", true, {}, {}, {}, nullptr},
    {"PATH", "a file's name", true, {}, {}, {}, nullptr},
    {"SECONDS", "seconds, as 2 or 0.5", false, {}, {}, {}, no_seconds},
    {"ADDRESS", "an IPv4 or IPv6 address", false, "neighbours", "neighbours", "address", nullptr},
    {"PREFIX", "a network, as 10.9.0.0/16, or an address", false, "routes", "routes", "to",
     nullptr},
    {"WORD", "a word", false, {}, {}, {}, nullptr},
};

}  // namespace

bool given::has(std::string_view word) const {
    return std::any_of(words.begin(), words.end(), [&](const auto& w) { return w.first == word; });
}

std::vector<std::string> given::values(std::string_view kind) const {
    std::vector<std::string> out;
    for (const auto& [name, text] : words)
        if (name == kind) out.push_back(text);
    return out;
}

std::string given::value(std::string_view kind) const {
    const auto all = values(kind);
    return all.empty() ? std::string() : all.front();
}

std::string given::option(std::string_view name, std::string_view otherwise) const {
    const auto at = options.find(name);
    return at == options.end() ? std::string(otherwise) : at->second;
}

std::chrono::milliseconds given::seconds(std::string_view name, double otherwise) const {
    const auto at = options.find(name);
    const double s = at == options.end() ? otherwise : std::stod(at->second);
    return std::chrono::milliseconds(static_cast<int64_t>(s * 1000 + 0.5));
}

std::span<const command> commands() noexcept { return table; }
std::span<const common_option> common_options() noexcept { return options; }
std::span<const topic> topics() noexcept { return first_words; }
std::span<const value_kind> value_kinds() noexcept { return kinds; }

const value_kind& kind_of(std::string_view name) {
    for (const value_kind& k : kinds)
        if (k.name == name) return k;
    throw std::logic_error("a usage names a kind of value that there is not");
}

}  // namespace turnpike::ctl
