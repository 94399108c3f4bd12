// SPDX-License-Identifier: BSD-3-Clause
#include "commands.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "complete.hpp"
#include "manual.hpp"
#include "objects.hpp"
#include "print.hpp"
#include "traces.hpp"
#include "transfer.hpp"
#include "watch.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;

/// A line's bound; a file that does not fit is read by turnpike itself.
constexpr size_t most_request_bytes = 1u << 20;

/// Which stations are meant; numbers go as numbers.
void add_stations(const given& g, json& request) {
    for (const auto& [word, kind] :
         {std::pair("bridge", "BRIDGE"), {"port", "PORT"}, {"mac", "MAC"}})
        if (g.has(word)) request[word] = g.value(kind);
    if (g.has("vlan")) request["vlan"] = std::stoul(g.value("NUMBER"));
}

result<json> flush(const given& g) {
    json request = {{"request", "flush"}, {"what", "fdb"}};
    add_stations(g, request);
    return request;
}
std::string flushed(const given&, const json& result) {
    return "flushed: " + std::to_string(result.value("flushed", 0U)) + " stations\n";
}

result<json> show(const given& g) {
    const std::string& what = g.words.at(1).second;
    if (what == "help") return json{{"request", "help"}};
    json request = {{"request", "show"}, {"what", what}};
    if (g.has("ADDRESS")) request["address"] = g.value("ADDRESS");
    if (g.has("PREFIX")) request["to"] = g.value("PREFIX");
    if (g.has("longer")) request["longer"] = true;
    if (g.has("VRF")) request["vrf"] = g.value("VRF");
    add_stations(g, request);
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
    add_confirm(g, request);
    const std::string line = request.dump(-1, ' ', false, json::error_handler_t::replace);
    if (line.size() >= most_request_bytes) {
        request.erase("text");
        request.erase("name");
        request["file"] = path;
    }
    return request;
}

result<json> roll_back(const given& g) {
    json request = {{"request", "rollback"}};
    if (g.has("NUMBER")) request["back"] = std::stoul(g.value("NUMBER"));
    return request;
}

result<json> show_states(const given&) { return json{{"request", "states"}}; }

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
constexpr std::string_view cost_columns =
    "lcore packets pps cpp utilisation headroom_pps ipc ipp core_cpp core_ghz";

/// The workers, what bounds them, and how far everything is from being full.
std::string cost_text(const given&, const json& result) {
    std::string out = shown_text("workers", cost_columns, result);
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
std::string valid(const given&, const json& result) {
    return result.value("valid", std::string()) + ": valid\n";
}
std::string would_change(const given&, const json& result) {
    return "would change: " + changes_text(result);
}
std::string changed(const given&, const json& result) { return "changed: " + changes_text(result); }

std::string confirmed(const given&, const json& result) {
    return "stays: " + result.value("confirmed", std::string()) + "\n";
}

constexpr command local(std::string_view usage, std::string_view help, int (*run)(const given&)) {
    return {usage, help, nullptr, nullptr, {}, {}, run};
}

constexpr command table[] = {
    {"show report", "the whole report, since the start, as JSON", show, report_text},
    {"show ports", "devices, their settings and counters", show, nullptr, "ports",
     "name driver link mtu mac rx_packets tx_packets rx_missed drops"},
    {"show interfaces", "addresses, patches and access lists", show, nullptr, "interfaces",
     "name kind port vrf mtu mac addresses peer acl_in acl_out l2_in l2_out"},
    {"show routes [PREFIX [longer]] [vrf VRF]",
     "routes that count: all, a prefix's, or those below it too", show, nullptr, "routes",
     "to origin protocol type reason interface via mac"},
    {"show route ADDRESS [vrf VRF]", "what a lookup of an address gives", show},
    {"show vrfs", "VRFs, and how many routes each has", show, nullptr, "vrfs",
     "name table interfaces ipv4 ipv6"},
    {"show neighbours", "who is known or asked for", show, nullptr, "neighbours",
     "interface address state mac gateway static held next_hop"},
    {"show next-hops", "what routes lead to", show, nullptr, "next_hops",
     "next_hop type reason interface via mac mtu"},
    {"show control-plane", "interfaces that the kernel has, too, and what was heard of it", show,
     nullptr, "interfaces", "name index carrier given taken not_taken"},
    {"show bridges", "bridges, and what their stations did", show, nullptr, "bridges",
     "name stations learnt moves aged held refused ageing_s max_addresses"},
    {"show fdb [bridge BRIDGE] [port PORT] [vlan NUMBER] [mac MAC]", "stations that bridges know",
     show, nullptr, "fdb", "bridge vlan mac port kind age_s"},
    {"show heard [bridge BRIDGE]", "who has which address, as bridges with neigh_suppress heard it",
     show, nullptr, "heard", "bridge vlan address mac port"},
    {"show tunnels", "tunnels, and what went through each", show, nullptr, "tunnels",
     "name vni local remote interface vrf bridge mtu rx_packets rx_bytes tx_packets tx_bytes"},
    {"show acl", "access lists where they are bound, with what they counted", show, nullptr, "acl",
     "port direction list permitted denied table_bytes"},
    {"show trace", "the way of packets that `trace` had written down", show, traces_text},
    {"show drops", "packets that went no further, by reason", show},
    {"show cost", "cycles a packet, by worker, and what bounds them", show, cost_text},
    {"show pcie", "PCIe transactions a packet, by port", show, pcie_text},
    {"show isa", "the kernels that were chosen", show},
    {"show workers", "which lcore polls which queues", show, nullptr, "workers", "lcore rx_queues"},
    {"show config", "the configuration that runs, and how often it changed", show},
    {"show states", "what a rollback can go back to, and what waits to be confirmed", show_states,
     nullptr, "states", "back when by what"},
    {"show memory", "buffers, tables, neighbours", show},
    {"show help", "what this turnpike can be asked", show},
    {"check FILE", "whether a configuration is whole", with_file, valid},
    {"diff FILE", "what it would change", with_file, would_change},
    {"apply FILE [--confirm SECONDS]", "become what it says: all of it, or nothing", with_file,
     changed},
    {"reload", "apply the file that turnpike was started with", bare, changed},
    {"confirm", "what was changed with --confirm is to stay", bare, confirmed},
    {"rollback [NUMBER]", "become what ran so many changes ago (1), of `show states`", roll_back,
     changed},
    local("save [FILE]",
          "write what runs to the file that turnpike was started with, or to another (-: print it)",
          save),
    {"route add|replace PREFIX via ADDRESS [port PORT [onlink]] [vrf VRF] [--confirm SECONDS]",
     "a route by a neighbour", change_route, changed},
    {"route add|replace PREFIX via ADDRESS recursive [vrf VRF] [--confirm SECONDS]",
     "a route by a gateway that other routes lead to", change_route, changed},
    {"route add|replace PREFIX port PORT [vrf VRF] [--confirm SECONDS]",
     "a route to a link: its destinations are neighbours there", change_route, changed},
    {"route add|replace PREFIX nexthop via ADDRESS [port PORT [onlink]] [weight NUMBER] [nexthop "
     "via ADDRESS [port PORT [onlink]] [weight NUMBER]]... [vrf VRF] [--confirm SECONDS]",
     "a route that neighbours share, by flow", change_shared_route, changed},
    {"route add|replace PREFIX nexthop via ADDRESS [weight NUMBER] [nexthop via ADDRESS [weight "
     "NUMBER]]... recursive "
     "[vrf VRF] [--confirm SECONDS]",
     "one that gateways share which other routes lead to", change_shared_route, changed},
    {"route add|replace PREFIX blackhole|unreachable|prohibit [vrf VRF] [--confirm SECONDS]",
     "a route that leads nowhere", change_route, changed},
    {"route del PREFIX [vrf VRF] [--confirm SECONDS]", "and take it away", change_route, changed},
    local("routes FILE [vrf VRF]",
          "lines \"add|replace|del ROUTE\", all of them or none (-: standard input)", send_routes),
    {"vrf add NAME [table NUMBER] [--confirm SECONDS]", "routes apart from all others", change_vrf,
     changed},
    {"vrf replace VRF table NUMBER [--confirm SECONDS]", "another number for it", change_vrf,
     changed},
    {"vrf del VRF [--confirm SECONDS]", "and its routes with it", change_vrf, changed},
    {"neighbour add|replace ADDRESS mac MAC [port PORT] [--confirm SECONDS]",
     "a neighbour that is never asked", change_neighbour, changed},
    {"neighbour del ADDRESS [port PORT] [--confirm SECONDS]", "and ask for it again",
     change_neighbour, changed},
    {"address add|del PORT CIDR [--confirm SECONDS]", "an address of ours", change_address,
     changed},
    {"address replace PORT CIDR... [--confirm SECONDS]", "all addresses of a port, at once",
     change_address, changed},
    {"port add PORT device DEVICE [mtu NUMBER] [rx_queues NUMBER] [descriptors NUMBER] "
     "[udp_checksums software|device] [addresses CIDRS] [vrf VRF] [acl_in LIST] [acl_out LIST] "
     "[l2_in LIST] [l2_out LIST] "
     "[--confirm SECONDS]",
     "open a device", change_port, changed},
    {"port replace PORT [device DEVICE] [mtu NUMBER] [rx_queues NUMBER] [descriptors NUMBER] "
     "[udp_checksums software|device] [addresses CIDRS] [vrf VRF] [acl_in LIST] [acl_out LIST] "
     "[l2_in LIST] [l2_out LIST] "
     "[--confirm SECONDS]",
     "what is said of it replaces what was; acl_in none: no list", change_port, changed},
    {"port del PORT [--confirm SECONDS]", "close it", change_port, changed},
    {"patch add|replace|del PORT PORT [--confirm SECONDS]", "two ports, each frame to the other",
     change_patch, changed},
    {"interface add|replace PORT NUMBER addresses CIDRS [vrf VRF] [acl_in LIST] [acl_out LIST] "
     "[--confirm SECONDS]",
     "a VLAN of a port, routed", change_interface, changed},
    {"interface del PORT NUMBER [--confirm SECONDS]", "and no more", change_interface, changed},
    {"bridge add NAME members NAMES [addresses CIDRS] [vrf VRF] [mac MAC] [ageing_s NUMBER] "
     "[max_addresses NUMBER] [--confirm SECONDS]",
     "ports that learn who is where; with addresses it routes, too", change_bridge, changed},
    {"bridge del BRIDGE [--confirm SECONDS]", "its ports are nobody's then", change_bridge,
     changed},
    {"member add|replace BRIDGE PORT "
     "[mode access|trunk|native-tagged|native-untagged|dot1q-tunnel] [vlan NUMBER] [trunks VLANS] "
     "[ethertype 802.1q|802.1ad] [learning true|false] [flood_unknown true|false] "
     "[neigh_suppress true|false] [locked true|false] [isolation NUMBER] [max_addresses NUMBER] "
     "[translate PAIRS] "
     "[storm_broadcast NUMBER] [storm_multicast NUMBER] [storm_unknown NUMBER] "
     "[--confirm SECONDS]",
     "a port of a bridge", change_member, changed},
    {"member del BRIDGE PORT [--confirm SECONDS]", "and no more", change_member, changed},
    {"tunnel add|replace NAME vni NUMBER local ADDRESS remote ADDRESS [interface PORT] "
     "[udp_port NUMBER] [vrf VRF] [mtu NUMBER] "
     "[ttl NUMBER] [dscp VALUE] [dont_fragment true|false] [checksum true|false] "
     "[ignore_reserved true|false] [--confirm SECONDS]",
     "VXLAN to a remote endpoint, or to a group of them, for a bridge to have as a member",
     change_tunnel, changed},
    {"tunnel del NAME [--confirm SECONDS]", "one that is no member", change_tunnel, changed},
    {"fdb add|replace BRIDGE MAC port PORT [vlan NUMBER] [--confirm SECONDS]",
     "a station that does not move or age", change_station, changed},
    {"fdb del BRIDGE MAC [vlan NUMBER] [--confirm SECONDS]", "it is learnt again", change_station,
     changed},
    {"fdb flush [bridge BRIDGE] [port PORT] [vlan NUMBER] [mac MAC]",
     "forget stations that were learnt", flush, flushed},
    {"acl add|replace LIST [layer 2|3] [default permit|deny] [rules FILE permit|deny] "
     "[--confirm SECONDS]",
     "an access list; FILE has ClassBench's lines, of IP packets: layer 3", change_acl, changed},
    {"acl del LIST [--confirm SECONDS]", "one that is bound nowhere", change_acl, changed},
    {"rule add LIST permit|deny|count [at NUMBER] [name NAME] [family ipv4|ipv6] "
     "[protocol PROTOCOL] [source PREFIX] [destination PREFIX] [source_ports PORTS] "
     "[destination_ports PORTS] [tcp_flags FLAGS] [icmp_type NUMBER] [icmp_code NUMBER] "
     "[dscp NUMBER] [vlan VLAN] [fragments true|false] [source_mac MACS] "
     "[destination_mac MACS] [ethertype TYPE] [--confirm SECONDS]",
     "a rule at the end of a list, or at a place from 1 on", change_rule, changed},
    {"rule replace LIST RULE permit|deny|count [name NAME] [family ipv4|ipv6] "
     "[protocol PROTOCOL] [source PREFIX] [destination PREFIX] [source_ports PORTS] "
     "[destination_ports PORTS] [tcp_flags FLAGS] [icmp_type NUMBER] [icmp_code NUMBER] "
     "[dscp NUMBER] [vlan VLAN] [fragments true|false] [source_mac MACS] "
     "[destination_mac MACS] [ethertype TYPE] [--confirm SECONDS]",
     "RULE: its name, or its place", change_rule, changed},
    {"rule del LIST RULE [--confirm SECONDS]", "RULE: its name, or its place", change_rule,
     changed},
    {"set KEY VALUE [--confirm SECONDS]",
     "a value of tx, idle, icmp, ecmp or neighbours, as tx.drain_us or neighbours.limit",
     change_setting, changed},
    {"batch FILE [--confirm SECONDS]",
     "lines of such commands, from \"route\" to \"set\", all of them or none (-: standard input)",
     change_many, changed},
    {"clear counters", "what `show` counts begins at 0 again; the report's totals go on", clear,
     cleared},
    {"trace NUMBER [port PORT] [address ADDRESS] [dropped]",
     "write down the way of the next packets: all, a port's, those from or to an address, those "
     "that are dropped (0: of no more)",
     trace, tracing},
    {"explain PORT frame FRAME", "what becomes of a frame that comes in now; nothing is sent",
     explain, explained},
    {"explain PORT from ADDRESS to ADDRESS [protocol udp|tcp|icmp] [source_port NUMBER] "
     "[destination_port NUMBER] "
     "[ttl NUMBER] [vlan NUMBER] [bytes NUMBER] [source_mac MAC] [destination_mac MAC]",
     "the same of a packet: UDP, of 60 bytes, to us as its router, where nothing else is said",
     explain, explained},
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

constexpr topic first_words[] = {
    {"show", "what runs, as a table"},       {"route", "a route"},
    {"neighbour", "a static neighbour"},     {"address", "addresses of ports"},
    {"port", "ports and their devices"},     {"patch", "ports that are joined"},
    {"interface", "VLANs of ports"},         {"bridge", "bridges"},
    {"member", "ports of bridges"},          {"fdb", "stations of bridges"},
    {"tunnel", "VXLAN to remote endpoints"}, {"acl", "access lists"},
    {"rule", "one rule of an access list"},  {"explain", "what becomes of a packet"}};

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

}  // namespace turnpike::ctl
